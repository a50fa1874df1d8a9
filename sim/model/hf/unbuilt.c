/* Types of models that are known and have what no key of a workload says: a reader of Llama's keys
 * would count them as Llamas.
 * Source: huggingface/transformers, src/transformers/models; of llada, dream, arctic, jetmoe,
 * hunyuan and longcat_flash the code beside their checkpoints. */
#include <string.h>

#include "model/hf/hf.h"

static const struct {
    const char *types; /* between blanks */
    const char *what;
} UNBUILT[] = {
    {" bamba falcon_h1 granitemoehybrid jamba nemotron_h zamba zamba2 ",
     "layers of a state-space model (Mamba)"},
    {" mamba mamba2 falcon_mamba codestral_mamba ", "layers of a state-space model (Mamba)"},
    {" qwen3_next qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text olmo_hybrid ",
     "layers of linear attention (gated delta networks)"},
    {" kimi_linear bailing_moe_linear ", "layers of linear attention"},
    {" minimax minimax_text_01 minimax_m1 ", "layers of linear attention (lightning attention)"},
    {" rwkv rwkv5 rwkv6 rwkv7 recurrent_gemma lfm2 lfm2_moe xlstm ",
     "recurrent or convolutional layers"},
    {" deepseek_v32 glm_moe_dsa ", "attention to keys that an indexer picks (sparse attention)"},
    {" phi3small ", "attention to blocks of keys in every second layer"},
    {" gemma3n gemma3n_text ",
     "embeddings and streams of every layer (AltUp, per-layer embeddings)"},
    {" mllama mllama_text_model ", "layers of cross attention to images"},
    {" t5 mt5 umt5 bart mbart pegasus whisper marian m2m_100 nllb-moe longt5 led ",
     "an encoder beside the decoder"},
    {" bert roberta xlm-roberta deberta deberta-v2 electra modernbert distilbert albert camembert "
     "esm nomic_bert ",
     "an encoder, which is no causal model"},
    {" vit clip clip_text_model clip_vision_model siglip siglip_vision_model dinov2 swin beit "
     "convnext wav2vec2 hubert blip sam ",
     "an encoder of images or sound, which is no causal model"},
    {" llada Dream dream ", "attention in both directions (text diffusion)"},
    {" nemotron-nas openelm deci ", "layers of different widths"},
    {" arctic ", "a dense MLP beside the experts of a layer"},
    {" jetmoe ", "experts of attention"},
    {" hunyuan ", "keys and values that layers share (cross-layer attention)"},
    {" longcat_flash ", "two attentions in a layer, and experts that do nothing"},
    {" gptj_8bit openai-gpt xlnet ctrl ", "norms behind the residual, or attention of its own"},
    {" qwen2_5_omni qwen3_omni_moe ",
     "a thinker and a talker: the thinker's text_config in a file of its own is read"},
};

const char *ms_hf_unbuilt(const char *model_type) {
    size_t length = strlen(model_type);
    for (size_t i = 0; i < sizeof UNBUILT / sizeof UNBUILT[0] && length > 0; i++) {
        const char *at = strstr(UNBUILT[i].types, model_type);
        while (at != NULL && (at[-1] != ' ' || at[length] != ' ')) {
            at = strstr(at + 1, model_type);
        }
        if (at != NULL && strchr(model_type, ' ') == NULL) {
            return UNBUILT[i].what;
        }
    }
    return NULL;
}
