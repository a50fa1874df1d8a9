/* What configs of single types of models say of how they are made: each changes r->traits. */
#ifndef MS_MODEL_HF_ADAPT_H
#define MS_MODEL_HF_ADAPT_H

#include "model/hf/hf.h"

/* Falcon: two generations of a block, heads of keys and values, ALiBi.
 *  Source: Transformers, falcon (FalconDecoderLayer, FalconAttention). */
void ms_hf_adapt_falcon(ms_hf_reader *r);

/* ChatGLM 2 and 3, GLM-4: norms, biases; the first ChatGLM is refused.
 *  Source: THUDM/chatglm3-6b, modeling_chatglm.py. */
void ms_hf_adapt_chatglm(ms_hf_reader *r);

/* Baichuan: the larger ones, whose configs say no positions, have ALiBi.
 *  Source: baichuan-inc/Baichuan2-13B-Base, modeling_baichuan.py. */
void ms_hf_adapt_baichuan(ms_hf_reader *r);

/* MPT: positions, biases.  Source: Transformers, mpt. */
void ms_hf_adapt_mpt(ms_hf_reader *r);

/* OPT: biases; variants with other norms or narrower embeddings are refused.
 *  Source: Transformers, opt. */
void ms_hf_adapt_opt(ms_hf_reader *r);

/* `use_bias`: in all linear layers but the head.  Source: Transformers, starcoder2, ernie4_5. */
void ms_hf_adapt_biases(ms_hf_reader *r);

/* `bias`: in the attention's.  Source: internlm/internlm2-7b, modeling_internlm2.py. */
void ms_hf_adapt_internlm(ms_hf_reader *r);

/* Qwen: biases of queries, keys and values alone.  Source: Qwen/Qwen-7B, modeling_qwen.py. */
void ms_hf_adapt_qwen(ms_hf_reader *r);

/* InternLM 3: `bias` is that of the output product and of the MLP.
 *  Source: internlm/internlm3-8b-instruct, modeling_internlm3.py. */
void ms_hf_adapt_internlm3(ms_hf_reader *r);

/* `multi_query`: one head of keys and values.  Source: Transformers, gpt_bigcode. */
void ms_hf_adapt_multi_query(ms_hf_reader *r);

/* Norms of queries and keys, where there are any, have gains for each head.
 *  Source: Transformers, cohere (CohereLayerNorm over heads and their size), stablelm
 * (StableLmLayerNormPerHead). */
void ms_hf_adapt_own_gains(ms_hf_reader *r);

/* Hunyuan: shared experts, attention shared between layers.  Source: Transformers,
 * hunyuan_v1_moe; tencent/Hunyuan-A13B-Pretrain, modeling_hunyuan.py. */
void ms_hf_adapt_hunyuan(ms_hf_reader *r);

/* MiniMax-M2: norms over all heads, the router's bias.
 *  Source: MiniMaxAI/MiniMax-M2, modeling_minimax_m2.py. */
void ms_hf_adapt_minimax(ms_hf_reader *r);

#endif
