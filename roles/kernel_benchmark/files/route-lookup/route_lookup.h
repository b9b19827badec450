/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked for, and what is found. Times are in nanoseconds. */
#ifndef FABRIC_ROUTE_LOOKUP_H
#define FABRIC_ROUTE_LOOKUP_H

#include <linux/in6.h>
#include <linux/types.h>

struct net;

#define MOST_LOOKUPS 1000000000ULL
#define MOST_PER_BATCH 64
/* A bucket for each nanosecond that a batch may take; the last one also has what took longer. */
#define BUCKETS 65536
/* Lookups return 0 or a negative error number; all that routing knows are below this one. */
#define CODES 256
#define REASON_SIZE 160

/*
 * A walk over the destinations: each comes once per period, in an order that looks random.
 *
 * high = base_high | (state >> high_shift & high_mask)
 * low = base_low | (state << low_shift & low_mask)
 */
struct walk {
	u64 state;
	u64 mask; /* the period, less one */
	u64 base_high;
	u64 base_low;
	u64 high_mask;
	u64 low_mask;
	u8 high_shift;
	u8 low_shift;
};

struct order {
	struct walk walk;
	bool ipv6;
	bool look_up; /* or all but the lookup: the empty loop */
	__be32 source;
	struct in6_addr source6;
	u32 interface; /* index of where packets would have come in; IPv4 */
	u32 batch; /* lookups between two readings of the clock */
	u64 lookups;
};

struct result {
	u64 state; /* where the walk goes on */
	u64 batches;
	u64 total;
	u64 minimum;
	u64 maximum;
	u64 codes[CODES];
	u64 other_codes;
	int last_other_code;
	u32 histogram[BUCKETS];
};

/*
 * Read an order from a text of words KEY=VALUE, which does not stay what it was. What is wrong with
 * it goes to @reason, which has room for REASON_SIZE bytes. Returns 0 or a negative error number.
 */
int read_order(struct order *order, char *text, char *reason);

/* Look up in @net as ordered; @result is zeroed. Returns 0, or -EINTR when a signal has come. */
int carry_out(const struct order *order, struct net *net, struct result *result);

#endif
