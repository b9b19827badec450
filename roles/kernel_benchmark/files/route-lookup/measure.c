// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks up, and looks at the clock. */

#include <linux/bottom_half.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>
#include <net/dst.h>
#include <net/flow.h>
#include <net/ip6_route.h>
#include <net/ip_fib.h>

#include "route_lookup.h"

/* Knuth's MMIX. Modulo 2^n, a step that is odd and a factor of 4n + 1 give the full period. */
static u64 next_state(u64 state, u64 mask)
{
	return (state * 6364136223846793005ULL + 1442695040888963407ULL) & mask;
}

/*
 * The empty loop does all but the lookup. What comes of a batch is kept until the clock was read,
 * and the compiler is told that each flow is used.
 */
static u64 time_ipv4(const struct order *order, struct net *net, u64 *state, int *codes)
{
	struct fib_result found;
	u64 begin, walked = *state;
	u32 i;

	begin = ktime_get_mono_fast_ns();
	for (i = 0; i < order->batch; i++) {
		struct flowi4 flow = { .flowi4_iif = order->interface, .saddr = order->source };

		walked = next_state(walked, order->walk.mask);
		flow.daddr = cpu_to_be32(order->walk.base_low | walked);
		barrier_data(&flow);
		codes[i] = order->look_up ? fib_lookup(net, &flow, &found, 0) : 0;
	}
	*state = walked;
	return ktime_get_mono_fast_ns() - begin;
}

#if IS_ENABLED(CONFIG_IPV6)
static u64 time_ipv6(const struct order *order, struct net *net, u64 *state, int *codes)
{
	const struct walk *walk = &order->walk;
	struct dst_entry *found[MOST_PER_BATCH];
	u64 begin, took, walked = *state;
	u32 i;

	begin = ktime_get_mono_fast_ns();
	for (i = 0; i < order->batch; i++) {
		struct flowi6 flow = { .saddr = order->source6 };
		u64 high, low;

		walked = next_state(walked, walk->mask);
		high = walk->base_high | (walked >> walk->high_shift & walk->high_mask);
		low = walk->base_low | (walked << walk->low_shift & walk->low_mask);
		flow.daddr.s6_addr32[0] = cpu_to_be32(high >> 32);
		flow.daddr.s6_addr32[1] = cpu_to_be32(high);
		flow.daddr.s6_addr32[2] = cpu_to_be32(low >> 32);
		flow.daddr.s6_addr32[3] = cpu_to_be32(low);
		barrier_data(&flow);
		found[i] = order->look_up ? ip6_route_output(net, NULL, &flow) : NULL;
	}
	took = ktime_get_mono_fast_ns() - begin;
	for (i = 0; i < order->batch; i++) {
		/* It never returns NULL: where there is no route, the entry has the error. */
		codes[i] = found[i] ? found[i]->error : 0;
		dst_release(found[i]);
	}
	*state = walked;
	return took;
}
#else
static u64 time_ipv6(const struct order *order, struct net *net, u64 *state, int *codes)
{
	return 0; /* read_order() refuses it */
}
#endif

static void count(struct result *result, u64 took, const int *codes, u32 batch)
{
	u32 i;

	result->batches++;
	result->total += took;
	result->minimum = min(result->minimum, took);
	result->maximum = max(result->maximum, took);
	result->histogram[min_t(u64, took, BUCKETS - 1)]++;
	for (i = 0; i < batch; i++) {
		if (codes[i] <= 0 && codes[i] > -CODES) {
			result->codes[-codes[i]]++;
		} else {
			result->other_codes++;
			result->last_other_code = codes[i];
		}
	}
}

int carry_out(const struct order *order, struct net *net, struct result *result)
{
	u64 number, batches = div_u64(order->lookups, order->batch);
	int codes[MOST_PER_BATCH];

	result->state = order->walk.state;
	result->minimum = U64_MAX;
	for (number = 0; number < batches; number++) {
		u64 took;

		/* As packets are forwarded: nothing but interrupts comes between. */
		local_bh_disable();
		if (order->ipv6)
			took = time_ipv6(order, net, &result->state, codes);
		else
			took = time_ipv4(order, net, &result->state, codes);
		local_bh_enable();
		count(result, took, codes, order->batch);
		if (signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}
