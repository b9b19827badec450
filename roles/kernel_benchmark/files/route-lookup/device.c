// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Times the kernel's route lookup: fib_lookup() and ip6_route_output() on pseudo-random
 * destinations.
 *
 * Whoever opens /dev/fabric_route_lookup writes an order and reads what came of it:
 *
 *   exec 3<>/dev/fabric_route_lookup
 *   echo 'network=198.51.0.0/16 lookups=1000000 batch=1' >&3
 *   cat <&3
 *
 * The lookups are made in the network namespace of the process that writes, one order at a time.
 */

#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "route_lookup.h"

#define LONGEST_ORDER 512

static bool for_one_run;
module_param(for_one_run, bool, 0444);
MODULE_PARM_DESC(for_one_run, "It was loaded for one run, and is to be unloaded after the next");

/* What came of the last order of an open file. */
struct answer {
	char reason[REASON_SIZE]; /* why it was refused, or nothing */
	struct result result;
};

/* Two orders at once would measure each other. */
static DEFINE_MUTEX(one_at_a_time);

/* Positions: 0 for the figures, one more than its index for each bucket that is not empty. */
static void *answer_at(const struct answer *answer, loff_t *position)
{
	loff_t index;

	if (!*position)
		return SEQ_START_TOKEN;
	if (*answer->reason)
		return NULL;
	for (index = *position - 1; index < BUCKETS; index++) {
		if (answer->result.histogram[index]) {
			*position = index + 1;
			return (void *)&answer->result.histogram[index];
		}
	}
	return NULL;
}

static void *answer_start(struct seq_file *seq, loff_t *position)
{
	return seq->private ? answer_at(seq->private, position) : ERR_PTR(-ENODATA);
}

static void *answer_next(struct seq_file *seq, void *what, loff_t *position)
{
	void *next;

	++*position;
	next = answer_at(seq->private, position);
	if (!next)
		*position = BUCKETS + 1;
	return next;
}

static void answer_stop(struct seq_file *seq, void *what)
{
}

static int answer_show(struct seq_file *seq, void *what)
{
	const struct answer *answer = seq->private;
	const struct result *result = &answer->result;
	const u32 *bucket = what;
	int code;

	if (what != SEQ_START_TOKEN) {
		seq_printf(seq, "took %td %u\n", bucket - result->histogram, *bucket);
		return 0;
	}
	if (*answer->reason) {
		seq_printf(seq, "refused %s\n", answer->reason);
		return 0;
	}
	seq_printf(seq, "state %llu\nbatches %llu\ntotal %llu\nminimum %llu\nmaximum %llu\n",
		   result->state, result->batches, result->total, result->minimum, result->maximum);
	for (code = 0; code < CODES; code++)
		if (result->codes[code])
			seq_printf(seq, "code %d %llu\n", -code, result->codes[code]);
	if (result->other_codes)
		seq_printf(seq, "other %llu %d\n", result->other_codes, result->last_other_code);
	return 0;
}

static const struct seq_operations answer_operations = {
	.start = answer_start,
	.next = answer_next,
	.stop = answer_stop,
	.show = answer_show,
};

static int device_open(struct inode *inode, struct file *file)
{
	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	/* misc_open() has put something there, which seq_open() does not expect. */
	file->private_data = NULL;
	return seq_open(file, &answer_operations);
}

static int device_release(struct inode *inode, struct file *file)
{
	struct seq_file *seq = file->private_data;

	kvfree(seq->private);
	return seq_release(inode, file);
}

static bool has_interface(struct net *net, u32 index)
{
	bool found;

	rcu_read_lock();
	found = dev_get_by_index_rcu(net, index);
	rcu_read_unlock();
	return found;
}

static int look_up(const struct order *order, struct answer *answer)
{
	struct net *net = current->nsproxy->net_ns;
	int error;

	if (!has_interface(net, order->interface)) {
		snprintf(answer->reason, REASON_SIZE,
			 "interface is %u, but this network has none of that number",
			 order->interface);
		return -ENODEV;
	}
	if (mutex_lock_interruptible(&one_at_a_time))
		return -EINTR;
	error = carry_out(order, net, &answer->result);
	mutex_unlock(&one_at_a_time);
	return error;
}

static ssize_t device_write(struct file *file, const char __user *buffer, size_t size,
			    loff_t *position)
{
	struct seq_file *seq = file->private_data;
	struct answer *answer, *former;
	struct order order;
	char *text;
	int error;

	if (size > LONGEST_ORDER)
		return -E2BIG;
	text = memdup_user_nul(buffer, size);
	if (IS_ERR(text))
		return PTR_ERR(text);
	answer = kvzalloc(sizeof(*answer), GFP_KERNEL);
	if (!answer) {
		kfree(text);
		return -ENOMEM;
	}
	error = read_order(&order, text, answer->reason);
	kfree(text);
	if (!error)
		error = look_up(&order, answer);
	if (error == -EINTR) {
		kvfree(answer);
		return error;
	}
	/* Not held meanwhile: who reads would wait without an end. */
	mutex_lock(&seq->lock);
	former = seq->private;
	seq->private = answer;
	/* What is read next is this answer, from its beginning, also after an error. */
	*position = 0;
	file->f_pos = 0;
	mutex_unlock(&seq->lock);
	kvfree(former);
	return error ?: size;
}

static const struct file_operations device_operations = {
	.owner = THIS_MODULE,
	.open = device_open,
	.read = seq_read,
	.write = device_write,
	.llseek = seq_lseek,
	.release = device_release,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "fabric_route_lookup",
	.fops = &device_operations,
	.mode = 0600,
};

module_misc_device(device);

MODULE_AUTHOR("the baremetal.fabric developers");
MODULE_DESCRIPTION("Times the kernel's route lookup");
MODULE_LICENSE("GPL");
MODULE_VERSION("1.0.0");
