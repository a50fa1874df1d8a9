/* Memory-bound work of a layer (norms, activations, rotary embedding, softmax, residuals): how many
 * kernels a framework runs for it, and how often they read and write each element. Below, e is the
 * bytes of an activation and 4 those of fp32; "(e in, 4 out)" reads one and writes the other.
 *
 * Fused: one kernel that reads its inputs and writes its results once.  Source: Megatron-LM,
 * megatron/core/fusions (bias, dropout and residual; GELU and SwiGLU with their bias; masked
 * softmax; rotary embedding); Apex's norms of 2021 on (FastLayerNorm) and Transformer Engine's,
 * which keep a row in registers: backward dy, x in, dx out, where the sums for the gain are made as
 * rows go by (NVIDIA/apex, pull request 1037: 86.6 us on an A100 40 GB, 16,384 rows of 1,024; here
 * 78). Where its softmax does not apply (attention_core.c) it runs PyTorch's operations in fp32: to
 * fp32 (e in, 4 out), scale (4, 4), mask (4, 4), softmax (4, 4), back (4, e); backward to fp32 (e,
 * 4), softmax (8, 4), mask (4, 4), scale (4, 4), back (4, e).
 * Source: Megatron-LM, megatron.model.fused_softmax (forward_torch_softmax).
 *
 * Eager, an operation of PyTorch a kernel:
 * - layer norm is fused there (native_layer_norm, and its backward pass with gain and bias);
 * - RMS norm is written out, as torchtitan and Llama have it: to fp32 (e in, 4 out), square (4, 4),
 *   mean (4), times its root (4, 4), back (4, e), gain (e, e); backward gain (dy and x in, product
 *   out and in: 4 e), dx by the gain (e, e), to fp32 (e, 4), by the root (4, 4), the root's
 *   gradient (8, 4, 4), that of the square (power, factor, product: 24; the mean's 4), sum (8, 4),
 *   back (4, e);
 * - GELU is one kernel each way; SwiGLU two (SiLU e, e; product 2 e, e), backward three of 3 e;
 * - rotary embedding in complex fp32: to fp32 (e, 4), product (4, 4), back (4, e), also backward;
 * - softmax follows a kernel that masks the scores (2 e), backward too;
 * - dropout precedes the residual (e in, e and its mask out).
 * Source: torchtitan, its Llama of 2024 (norm, rotary embedding, feed-forward); PyTorch,
 * derivatives.yaml and aten/src/ATen/native/cuda (what a backward pass calls); bytes derived here.
 *
 * Two passes: Apex's layer norm (FusedLayerNorm, which Megatron-LM's MixedFusedLayerNorm is made
 * of) reads a row for its mean and variance and again for the result (x, x in, y out). Backward a
 * kernel sums the gain's and the bias's gradients (dy, x), another reads both for its row's sums
 * and again for the result (2 dy, 2 x in, dx out). PyTorch's until 1.10 moves as much (moments x;
 * result x, y; sums dy, x; result dy, x, dx; gain dy, x). Source: NVIDIA apex,
 * csrc/layer_norm_cuda_kernel.cu; PyTorch 1.10, aten/src/ATen/native/cuda/layer_norm_kernel.cu.
 * Held against Apex's on an A100 40 GB, 16,384 rows of 1,024: 75 us forward and 176 us backward
 * (NVIDIA/apex, pull request 1037), here 78 and 180.
 *
 * Separate dropout: bias (x in and out), dropout (in, out, its mask), residual (two in, one out).
 * PyTorch's TorchScript executor of old, which Megatron-LM's flags ask for, stopped fusing dropout
 * in autumn 2021. Source: pytorch/pytorch, pull request 66273; Megatron-LM, bias_dropout_add.
 *
 * Compiled: TorchInductor fuses as above, and the second norm of a block with the residual before
 * it. So half of the norms find their input in registers, which is still written for the second
 * residual: one element less forward. Backward their input's gradient goes straight into the sum
 * with that of the residual: it is neither written nor read; the gain's gradient, a sum over rows,
 * is a kernel of its own (dy, x in). Complex numbers it leaves to PyTorch's operations: a rotary
 * embedding that multiplies them stays as eager, but for the copies of keys that its last kernel
 * writes (attention.c). Source: torch._inductor.lowering (unsupported_output_tensor, "does not
 * support code generation for complex operators"); pytorch/torchtitan, issue 15.
 * Source: Ansel et al., PyTorch 2, ASPLOS'24, section 5 (fusion of pointwise kernels and
 * reductions, not beyond what is compiled as one: torchtitan compiles each block). */
#include "model/internal.h"

/* The kernels of a memory-bound work (ms_work), and the bytes that all of them move together. */
typedef struct passes {
    double elements; /* of activations, read or written, for each element of the work */
    double fp32_B;   /* read or written beside those, for each element of the work [B] */
    int kernels;
} passes;

static const passes FORWARD[MS_KERNELS_COUNT][MS_WORK_COUNT] = {
    [MS_KERNELS_FUSED] = {[MS_WORK_LAYER_NORM] = {2, 0, 1},
                          [MS_WORK_RMS_NORM] = {2, 0, 1},
                          [MS_WORK_GELU] = {2, 0, 1},
                          [MS_WORK_SWIGLU] = {3, 0, 1},
                          [MS_WORK_ROTARY] = {2, 0, 1},
                          [MS_WORK_SOFTMAX] = {2, 0, 1},
                          [MS_WORK_WIDE_SOFTMAX] = {2, 32, 5},
                          [MS_WORK_RESIDUAL] = {3, 0, 1},
                          [MS_WORK_DROPPED_RESIDUAL] = {3, 1, 1}},
    [MS_KERNELS_EAGER] = {[MS_WORK_LAYER_NORM] = {2, 0, 1},
                          [MS_WORK_RMS_NORM] = {4, 28, 6},
                          [MS_WORK_GELU] = {2, 0, 1},
                          [MS_WORK_SWIGLU] = {5, 0, 2},
                          [MS_WORK_ROTARY] = {2, 16, 3},
                          [MS_WORK_SOFTMAX] = {4, 0, 2},
                          [MS_WORK_WIDE_SOFTMAX] = {2, 32, 5},
                          [MS_WORK_RESIDUAL] = {3, 0, 1},
                          [MS_WORK_DROPPED_RESIDUAL] = {5, 1, 2}},
};

/* Forward and backward tables: [framework's kernels][work]. The backward pass of a residual with
 * dropout is two kernels in every framework, the dropout's and the residual's
 * (ms_cost_residual). */
static const passes BACKWARD[MS_KERNELS_COUNT][MS_WORK_COUNT] = {
    [MS_KERNELS_FUSED] = {[MS_WORK_LAYER_NORM] = {3, 0, 1},
                          [MS_WORK_RMS_NORM] = {3, 0, 1},
                          [MS_WORK_GELU] = {3, 0, 1},
                          [MS_WORK_SWIGLU] = {5, 0, 1},
                          [MS_WORK_ROTARY] = {2, 0, 1},
                          [MS_WORK_SOFTMAX] = {3, 0, 1},
                          [MS_WORK_WIDE_SOFTMAX] = {2, 36, 5},
                          [MS_WORK_RESIDUAL] = {3, 0, 1}},
    [MS_KERNELS_EAGER] = {[MS_WORK_LAYER_NORM] = {5, 0, 1},
                          [MS_WORK_RMS_NORM] = {8, 72, 13},
                          [MS_WORK_GELU] = {3, 0, 1},
                          [MS_WORK_SWIGLU] = {9, 0, 3},
                          [MS_WORK_ROTARY] = {2, 16, 3},
                          [MS_WORK_SOFTMAX] = {5, 0, 2},
                          [MS_WORK_WIDE_SOFTMAX] = {2, 36, 5},
                          [MS_WORK_RESIDUAL] = {3, 0, 1}},
};

static const passes TWO_PASS_NORM = {3, 0, 1}, TWO_PASS_NORM_BACKWARD = {7, 0, 1};
static const passes SEPARATE_DROPOUT = {7, 1, 3};

/* Elements that a compiled norm moves, on average: half of the norms find their input in registers
 * and move one element less than two forward. Backward two of the five elements of a norm with its
 * gain's gradient fall away for these. */
static const double COMPILED_NORM = 1.5, COMPILED_NORM_BACKWARD = 4;

/* The kernels of a work in the model's framework, in one direction. Compiled kernels move as much
 * as fused ones, but for norms, and for complex rotary embeddings, which stay eager. */
static passes passes_of(const ms_model *model, ms_work work, bool is_backward) {
    ms_kernels kernels = model->kernels;
    bool is_compiled = kernels == MS_KERNELS_COMPILED;
    bool is_norm = work == MS_WORK_LAYER_NORM || work == MS_WORK_RMS_NORM;
    bool is_complex = work == MS_WORK_ROTARY && model->kernel_traits.has_complex_rotary;
    ms_kernels like = is_complex ? MS_KERNELS_EAGER : is_compiled ? MS_KERNELS_FUSED : kernels;
    if (work == MS_WORK_LAYER_NORM && model->kernel_traits.has_two_pass_norms) {
        return is_backward ? TWO_PASS_NORM_BACKWARD : TWO_PASS_NORM;
    }
    if (work == MS_WORK_DROPPED_RESIDUAL && model->kernel_traits.has_separate_dropout) {
        return SEPARATE_DROPOUT;
    }
    passes each = is_backward ? BACKWARD[like][work] : FORWARD[like][work];
    if (is_compiled && is_norm) {
        each.elements = is_backward ? COMPILED_NORM_BACKWARD : COMPILED_NORM;
    }
    return each;
}

/* The kernels of a work without the two that copy to fp32 and back, where activations are in fp32
 * already. All work that is not fused has these two copies (has_casts). */
static passes without_casts(passes each) {
    enum { CASTS = 2, SINGLE_B = 4 };
    each.elements -= CASTS;
    each.fp32_B -= CASTS * SINGLE_B;
    each.kernels -= CASTS;
    return each;
}

/* Whether a work begins with a copy to fp32 and ends with a copy back. */
static bool has_casts(const ms_model *model, ms_work work) {
    bool is_written_out = work == MS_WORK_RMS_NORM || work == MS_WORK_ROTARY;
    return work == MS_WORK_WIDE_SOFTMAX || (model->kernels == MS_KERNELS_EAGER && is_written_out);
}

/* Add the kernels of a memory-bound work, with its bytes divided evenly over them. */
void ms_cost_memory_work(ms_cost_builder *builder, const char *name, ms_work work, bool is_backward,
                         double elements) {
    passes each = passes_of(builder->model, work, is_backward);
    if (ms_has_fp32_activations(&builder->shard) && has_casts(builder->model, work)) {
        each = without_casts(each);
    }
    double elements_B = elements * builder->shard.element_B;
    double bytes = each.elements * elements_B + each.fp32_B * elements;
    for (int i = 0; i < each.kernels; i++) {
        ms_cost_memory(builder, name, bytes / each.kernels);
    }
}
