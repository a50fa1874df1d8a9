/* Simulated configurations a second on one core: GPT-3 175B on 1,024 GPUs over every legal mesh of
 * tp x pp (meshes_gpt3_175b_1024.csv beside this file), microbatches of one sequence, 1f1b, at
 * granularity `pass` and fidelity `flow`.
 *
 *   bench_experiments [layer|pass]
 *
 * One process reads the workload, loads SimGrid and forks a child for each simulation, which lays
 * the job out, simulates it and hands its figures back. What counts is the CPU time of parent and
 * children from the first fork on, of five rounds the shortest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simulate/engine/engine.h"
#include "simulate/run/job.h"

enum { MESHES_MAX = 256, ROUNDS = 5 };

typedef struct mesh_sizes {
    int tp, pp, dp;
} mesh_sizes;

static int read_meshes(mesh_sizes *meshes) {
    FILE *file = fopen(MS_SOURCE_DIR "/tests/bench/meshes_gpt3_175b_1024.csv", "r");
    char line[64];
    int count = 0;
    while (file != NULL && count < MESHES_MAX && fgets(line, sizeof line, file) != NULL) {
        mesh_sizes *m = &meshes[count];
        char *end = line;
        m->tp = (int)strtol(end, &end, 10);
        m->pp = *end == ',' ? (int)strtol(end + 1, &end, 10) : 0;
        m->dp = *end == ',' ? (int)strtol(end + 1, &end, 10) : 0;
        count += m->tp > 0 && m->pp > 0 && m->dp > 0; /* else the heading */
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

static ms_job_spec spec_of(const ms_job_spec *base, const mesh_sizes *m) {
    static const char *const NAMES[] = {"pp", "dp", "tp"};
    const int sizes[] = {m->pp, m->dp, m->tp};
    ms_job_spec spec = ms_job_spec_derive(base);
    for (int a = 0; a < 3; a++) {
        spec.mesh.names[a] = NAMES[a];
        spec.mesh.sizes[a] = sizes[a];
    }
    return spec;
}

/* Simulate in a child; its figures go down the pipe. */
static _Noreturn void simulate(const ms_job_spec *base, const mesh_sizes *m, int pipe_end) {
    ms_arena arena;
    ms_diag diag;
    ms_job job;
    ms_result result;
    ms_run_figures figures;
    ms_arena_init(&arena);
    ms_diag_init_stderr(&diag);
    ms_job_spec spec = spec_of(base, m);
    bool is_done = ms_job_build(&spec, &arena, &diag, &job) == MS_OK &&
                   ms_job_run(&job, &arena, &diag, &result) == MS_OK;
    if (is_done) {
        ms_result_figures(&result, &figures);
        is_done = write(pipe_end, &figures, sizeof figures) == (ssize_t)sizeof figures;
    }
    _exit(is_done ? 0 : 1);
}

/* One simulation.  Returns its step time, 0 where it failed [s]. */
static double run_one(const ms_job_spec *base, const mesh_sizes *m) {
    int ends[2];
    ms_run_figures figures = {.step_time_s = 0.0};
    if (pipe(ends) != 0) {
        return 0.0;
    }
    pid_t child = fork();
    if (child == 0) {
        simulate(base, m, ends[1]);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &figures, sizeof figures) != (ssize_t)sizeof figures) {
        figures.step_time_s = 0.0;
    }
    close(ends[0]);
    if (child > 0) {
        waitpid(child, NULL, 0);
    }
    return figures.step_time_s;
}

static double seconds_of(int who) {
    struct rusage use;
    getrusage(who, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

/* CPU time of the process and of its children that have ended [s]. */
static double cpu_s(void) {
    return seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN);
}

int main(int argc, char **argv) {
    ms_arena arena;
    ms_diag diag;
    ms_job_spec base;
    mesh_sizes meshes[MESHES_MAX];
    int count = read_meshes(meshes);
    ms_arena_init(&arena);
    ms_diag_init_stderr(&diag);
    ms_job_request request = {.workload = MS_SOURCE_DIR "/workloads/gpt3-175b-1024.yaml",
                              .data_folder = MS_SOURCE_DIR};
    if (count == 0 || ms_job_spec_read(&request, &arena, &diag, &base) != MS_OK) {
        return 3;
    }
    base.simulation.granularity =
        argc > 1 && strcmp(argv[1], "layer") == 0 ? MS_GRANULARITY_LAYER : MS_GRANULARITY_PASS;
    ms_engine_load_simgrid();
    double best_s = 0.0;
    double step_s = 0.0; /* of all meshes: says that two versions simulate the same */
    for (int round = 0; round < ROUNDS; round++) {
        double start_s = cpu_s();
        step_s = 0.0;
        for (int i = 0; i < count; i++) {
            double one_s = run_one(&base, &meshes[i]);
            if (one_s <= 0.0) {
                fprintf(stderr, "bench_experiments: mesh %d failed\n", i);
                return 1;
            }
            step_s += one_s;
        }
        double round_s = cpu_s() - start_s;
        best_s = round == 0 || round_s < best_s ? round_s : best_s;
    }
    printf("%d configurations at granularity %s, best of %d: %.1f ms each, %.1f a second; "
           "steps sum to %.6f s\n",
           count, ms_granularity_name(base.simulation.granularity), ROUNDS, 1e3 * best_s / count,
           count / best_s, step_s);
    ms_arena_release(&arena);
    return 0;
}
