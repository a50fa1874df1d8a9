/* What a benchmark of collectives measures beside the library's own time: the host's time for a
 * call (20 us from PyTorch), the wait of the first rank for the last, and kernel launches by one
 * thread for all GPUs. */
#include <math.h>

#include "search/times.h"

/* PyTorch's host time before a call on an idle GPU, which a benchmark that times calls one by one
 * has in every one of them. Source: S. Bekman, Machine Learning Engineering, network/benchmarks:
 * its script gives 20 to 30 us, and its two tables of one node of 8 H200 differ by 18 to 22 us from
 * 32 KiB to 64 MiB, where calls are timed one by one and where ten queue up. */
static const double LONE_CALL_S = 20e-6;

/* A lone call is one call at a time on idle GPUs. Ranks of several nodes begin it at different
 * times, and the first rank waits for the last. Source: the same script's two tables of 4 nodes of
 * 8 B200, which differ by 51 to 316 us from 1 to 128 MiB, half of them by less than this. */
static const double LONE_CALL_NODES_S = 185e-6;

/* Time of a host thread to launch a collective's kernel on one GPU: a constant, and a share for
 * each channel of the kernel (a channel is one of the parallel rings or trees of NCCL). Plausible:
 * 3 to 10 us (a launch by CUDA), 0 to 1 us. Fit: 64 KiB to 4 MiB on 8 A100 launched by one thread
 * (nccl-tests -g 8), without 32 KiB and 1 MiB, which it meets to 1 %. Source: S. Bekman, Machine
 * Learning Engineering, network. */
static const double LAUNCH_S = 5.2e-6;
static const double LAUNCH_CHANNEL_S = 0.31e-6;

/* A small collective has fewer channels: each of LL's 512 threads gets 8 bytes for every rank of
 * the ring. Source: NVIDIA/nccl, src/enqueue.cc and src/graph/tuning.cc, thread thresholds; each
 * channel of the search is there twice, src/graph/connect.cc. */
enum { LL_THREADS = 512, LL_THREAD_B = 8, CHANNELS_OF_ONE = 2 };

/* Time of a host thread to launch a collective's kernel on one of its GPUs [s]; 0 without a
 * library. A small collective uses only as many channels as its size fills. */
static double launch_s(const ms_timed_collective *c, const ms_platform *platform) {
    if (platform->library == NULL) {
        return 0.0;
    }
    double most =
        CHANNELS_OF_ONE * platform->library->generations[platform->gpu.generation].channels;
    double channels = ceil(c->size_B / ((double)LL_THREADS * LL_THREAD_B * c->ranks));
    return LAUNCH_S + LAUNCH_CHANNEL_S * fmin(channels, most);
}

double ms_timed_s(const ms_timed_collective *c, const ms_platform *platform, double time_s) {
    if (c->timing == MS_TIMING_LONE_CALL) {
        return time_s + (c->nodes > 1 ? LONE_CALL_NODES_S : LONE_CALL_S);
    }
    /* calls queue up: a call takes as long as its GPUs work, or as long as one thread needs to
     * launch the next call on all GPUs, whichever is longer */
    return c->timing == MS_TIMING_ONE_THREAD ? fmax(time_s, c->ranks * launch_s(c, platform))
                                             : time_s;
}
