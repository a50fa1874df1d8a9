#include "collective/nodes.h"

int ms_node_runs_find(const ms_platform *platform, int *gpus, int members, ms_node_run *runs_out) {
    /* insertion by node is stable; groups come almost sorted, so this is close to linear */
    for (int i = 1; i < members; i++) {
        int gpu = gpus[i];
        int node = ms_platform_node(platform, gpu);
        int j = i;
        while (j > 0 && ms_platform_node(platform, gpus[j - 1]) > node) {
            gpus[j] = gpus[j - 1];
            j--;
        }
        gpus[j] = gpu;
    }
    int count = 0;
    for (int i = 0; i < members; i++) {
        if (i == 0 ||
            ms_platform_node(platform, gpus[i]) != ms_platform_node(platform, gpus[i - 1])) {
            runs_out[count++] = (ms_node_run){.first = i};
        }
        runs_out[count - 1].count++;
    }
    return count;
}
