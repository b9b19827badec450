// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads orders: nothing in them is believed. */

#include <linux/errno.h>
#include <linux/inet.h>
#include <linux/ipv6.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "route_lookup.h"

/* The words as they stand; a number is of no use before it is known to be one. */
struct words {
	char *network;
	char *source;
	u64 interface;
	u64 lookups;
	u64 batch;
	u64 state;
	u64 look_up;
};

#define refuse(reason, code, ...) (snprintf(reason, REASON_SIZE, __VA_ARGS__), code)

static int read_number(const char *key, const char *value, u64 least, u64 most, u64 *number,
		       char *reason)
{
	if (kstrtoull(value, 10, number) || *number < least || *number > most)
		return refuse(reason, -EINVAL,
			      "%s is %.40s, but must be a number from %llu to %llu",
			      key, value, least, most);
	return 0;
}

static int read_word(struct words *words, char *key, char *value, char *reason)
{
	if (!value)
		return refuse(reason, -EINVAL, "%.40s has no value; write KEY=VALUE", key);
	if (!strcmp(key, "network")) {
		words->network = value;
		return 0;
	}
	if (!strcmp(key, "source")) {
		words->source = value;
		return 0;
	}
	if (!strcmp(key, "interface"))
		return read_number(key, value, 1, INT_MAX, &words->interface, reason);
	if (!strcmp(key, "lookups"))
		return read_number(key, value, 1, MOST_LOOKUPS, &words->lookups, reason);
	if (!strcmp(key, "batch"))
		return read_number(key, value, 1, MOST_PER_BATCH, &words->batch, reason);
	if (!strcmp(key, "state"))
		return read_number(key, value, 0, U64_MAX, &words->state, reason);
	if (!strcmp(key, "look_up"))
		return read_number(key, value, 0, 1, &words->look_up, reason);
	return refuse(reason, -EINVAL,
		      "%.40s is no key; expected network, source, interface, lookups, batch, state, look_up",
		      key);
}

static bool is_ipv6(const char *text)
{
	return strchr(text, ':');
}

/* As a number of 128 bits, of which an IPv4 address has the last 32. */
static bool read_address(const char *text, u64 *high, u64 *low)
{
	union {
		u8 bytes[16];
		__be32 ipv4;
		__be64 halves[2];
	} address;
	const char *end;

	if (is_ipv6(text)) {
		if (!in6_pton(text, -1, address.bytes, -1, &end) || *end)
			return false;
		*high = be64_to_cpu(address.halves[0]);
		*low = be64_to_cpu(address.halves[1]);
		return true;
	}
	if (!in4_pton(text, -1, address.bytes, -1, &end) || *end)
		return false;
	*high = 0;
	*low = be32_to_cpu(address.ipv4);
	return true;
}

static u64 low_bits(unsigned int count)
{
	return count < 64 ? (1ULL << count) - 1 : U64_MAX;
}

/* Over all addresses of a network, or over its first 2^64 subnets if it has more. */
static void walk_over(struct walk *walk, unsigned int host_bits, u64 high, u64 low)
{
	unsigned int varied = min(host_bits, 64U);
	unsigned int below = host_bits - varied;

	walk->mask = low_bits(varied);
	walk->base_high = high;
	walk->base_low = low;
	walk->high_mask = below ? U64_MAX : 0;
	walk->low_mask = below < 64 ? U64_MAX : 0;
	walk->high_shift = below ? 64 - below : 0;
	walk->low_shift = below % 64;
}

static int read_network(struct order *order, char *text, char *reason)
{
	char *slash = strchr(text, '/');
	u64 high, low, width, length;
	unsigned int host_bits;

	order->ipv6 = is_ipv6(text);
	width = order->ipv6 ? 128 : 32;
	length = width;
	if (slash) {
		*slash = '\0';
		if (read_number("the length of the prefix", slash + 1, 0, width, &length, reason))
			return -EINVAL;
	}
	if (!read_address(text, &high, &low))
		return refuse(reason, -EINVAL,
			      "network begins with %.50s, which is no address", text);
	host_bits = width - length;
	if (low & low_bits(host_bits) || (host_bits > 64 && high & low_bits(host_bits - 64)))
		return refuse(reason, -EINVAL,
			      "network begins with %.50s, which is not the first address of a /%llu",
			      text, length);
	walk_over(&order->walk, host_bits, high, low);
	return 0;
}

static int read_source(struct order *order, const char *text, char *reason)
{
	u64 high, low;

	if (!read_address(text, &high, &low))
		return refuse(reason, -EINVAL, "source is %.50s, which is no address", text);
	if (is_ipv6(text) != order->ipv6)
		return refuse(reason, -EAFNOSUPPORT,
			      "source is %.50s, of another family than network", text);
	if (order->ipv6) {
		order->source6.s6_addr32[0] = cpu_to_be32(high >> 32);
		order->source6.s6_addr32[1] = cpu_to_be32(high);
		order->source6.s6_addr32[2] = cpu_to_be32(low >> 32);
		order->source6.s6_addr32[3] = cpu_to_be32(low);
	} else {
		order->source = cpu_to_be32(low);
	}
	return 0;
}

int read_order(struct order *order, char *text, char *reason)
{
	struct words words = { .lookups = 1000000, .batch = 1, .look_up = 1 };
	int error;

	memset(order, 0, sizeof(*order));
	text = skip_spaces(text);
	while (*text) {
		char *key, *value;

		text = next_arg(text, &key, &value);
		error = read_word(&words, key, value, reason);
		if (error)
			return error;
	}
	if (!words.network)
		return refuse(reason, -EINVAL, "network is missing, as in network=192.0.2.0/24");
	error = read_network(order, words.network, reason);
	if (!error && words.source)
		error = read_source(order, words.source, reason);
	if (error)
		return error;
	if (words.lookups < words.batch)
		return refuse(reason, -EINVAL, "lookups is %llu, less than one batch of %llu",
			      words.lookups, words.batch);
	/* Output takes no notice of where a packet came in, see ip6_route_output_flags(). */
	if (order->ipv6 && words.interface)
		return refuse(reason, -EOPNOTSUPP,
			      "interface is for IPv4; IPv6 is looked up as for the host's own packets");
	/* Its tables do not exist then, and nothing else would say so. */
	if (order->ipv6 && !ipv6_mod_enabled())
		return refuse(reason, -EAFNOSUPPORT, "IPv6 is disabled on this kernel");
	order->interface = words.interface ?: 1; /* lo, LOOPBACK_IFINDEX of net/flow.h */
	order->lookups = words.lookups;
	order->batch = words.batch;
	order->look_up = words.look_up;
	order->walk.state = words.state & order->walk.mask;
	return 0;
}
