// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Times the kernel's route lookup: bpf_fib_lookup() on pseudo-random destinations.
 *
 * BPF_PROG_TEST_RUN runs it again and again; each run is one batch of lookups between two readings of the clock. It is
 * told what to do, and tells what it found, in one variable, which user space sees as the memory of a map.
 *
 * It includes no header, so that what comes out depends on the compiler alone. What it takes from the kernel is user
 * space's interface, include/uapi/linux/bpf.h of Linux 5.15, which every later kernel keeps.
 */

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

#define SECTION(name) __attribute__((section(name), used))

#define AF_INET 2
#define AF_INET6 10
#define XDP_PASS 2

struct xdp_md;

/* struct bpf_fib_lookup, without names for the parts of its unions that are not used here. */
struct route_lookup {
	u8 family;
	u8 l4_protocol;
	u16 source_port;
	u16 destination_port;
	u16 length;
	u32 interface;
	u32 flow;
	u32 source[4];
	u32 destination[4];
	u32 vlan_or_table;
	u8 link_addresses[12];
};

_Static_assert(sizeof(struct route_lookup) == 64, "the size that the kernel asks for");

static u64 (*const ktime_get_ns)(void) = (void *)5;
static int (*const fib_lookup)(void *context, struct route_lookup *lookup, int size, u32 flags) = (void *)69;

#define MOST_PER_BATCH 64
#define RETURN_CODES 16
/* One bucket for each nanosecond that a batch may take; the last one also has all that took longer. */
#define BUCKETS 65536

/* Its layout is also in plugins/module_utils/_kernel/benchmark/shared_memory.py. */
struct shared_memory {
	/* What to do. */
	u64 state; /* of the walk over the destinations */
	u64 mask; /* the walk's period, less one */
	u64 base_high; /* destinations: 128 bits, or the last 32 of them */
	u64 base_low;
	u64 high_mask;
	u64 low_mask;
	u32 high_shift;
	u32 low_shift;
	u32 source[4]; /* in network byte order */
	u32 family;
	u32 interface;
	u32 batch;
	u32 look_up; /* 0: everything but the lookup */

	/* What was found. */
	u64 batches;
	u64 total;
	u64 minimum;
	u64 maximum;
	u64 return_codes[RETURN_CODES];
	u64 errors;
	s64 last_error;
	u32 histogram[BUCKETS];
};

struct shared_memory shared;

SECTION("xdp")
int route_lookup(struct xdp_md *context)
{
	u32 batch = shared.batch;
	u64 state = shared.state;
	u64 begin = ktime_get_ns();

	for (u32 i = 0; i < MOST_PER_BATCH; i++) {
		struct route_lookup lookup = {};
		s64 code = 0;

		if (i >= batch)
			break;

		/* Knuth's MMIX. Modulo a power of two, a step that is odd and a factor of 4n + 1 give the full period. */
		state = (state * 6364136223846793005ULL + 1442695040888963407ULL) & shared.mask;

		lookup.interface = shared.interface;
		if (shared.family == AF_INET6) {
			u64 high = shared.base_high | ((state >> (shared.high_shift & 63)) & shared.high_mask);
			u64 low = shared.base_low | ((state << (shared.low_shift & 63)) & shared.low_mask);

			lookup.family = AF_INET6;
			lookup.source[0] = shared.source[0];
			lookup.source[1] = shared.source[1];
			lookup.source[2] = shared.source[2];
			lookup.source[3] = shared.source[3];
			lookup.destination[0] = __builtin_bswap32((u32)(high >> 32));
			lookup.destination[1] = __builtin_bswap32((u32)high);
			lookup.destination[2] = __builtin_bswap32((u32)(low >> 32));
			lookup.destination[3] = __builtin_bswap32((u32)low);
		} else {
			lookup.family = AF_INET;
			lookup.source[0] = shared.source[0];
			lookup.destination[0] = __builtin_bswap32((u32)(shared.base_low | state));
		}
		/* The empty loop prepares the lookup, too: the compiler must not move that to where it is used. */
		asm volatile("" : : "r"(&lookup) : "memory");

		if (shared.look_up)
			code = fib_lookup(context, &lookup, sizeof(lookup), 0);

		if (code >= 0 && code < RETURN_CODES) {
			u64 slot = code;

			/* The verifier bounds what it sees masked; the compiler knows already that no mask is needed. */
			asm volatile("" : "+r"(slot));
			shared.return_codes[slot & (RETURN_CODES - 1)]++;
		} else {
			shared.errors++;
			shared.last_error = code;
		}
	}

	u64 took = ktime_get_ns() - begin;

	shared.state = state;
	shared.batches++;
	shared.total += took;
	if (took < shared.minimum)
		shared.minimum = took;
	if (took > shared.maximum)
		shared.maximum = took;
	if (took >= BUCKETS)
		took = BUCKETS - 1;
	shared.histogram[took]++;
	return XDP_PASS;
}

char licence_of_the_program[] SECTION("license") = "GPL";
