/* Which software a case ran: by its group, by words of its source, and else by its day. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "study/cases_rules.h"

/* What has to hold for a line of the tables below. */
typedef struct framework_row {
    const char *word; /* a group, or a word of the source */
    const char *framework;
    bool asks_parallel_block; /* only models with attention and MLP side by side */
    const char *precision;    /* only runs in that working type; NULL: in any */
    int since, before;        /* only software of from that month on, of before it; 0: of any */
} framework_row;

/* A month as one number, so that they compare. */
#define MONTH(year, month) ((year)*12 + (month))

/* Placeholders of weight gradients are kept by Transformer Engine since 2.3, and Megatron Core 0.15
 * takes them for the output layer, too. The month is an estimate between two measurements: a run of
 * September 2025 has none, one of January 2026 has them.
 * Source: Transformer Engine, pull request 1651; the dates of megatron_ci.yaml. */
enum { CORE_0_15 = MONTH(2025, 10) };

/* NeMo 2.0 took the launcher's place after release 24.07. Source: NVIDIA, NeMo's release notes. */
enum { NEMO_2 = MONTH(2024, 9) };

/* cuDNN's attention comes first in PyTorch 2.9. Source: PyTorch's release notes. */
enum { TORCH_2_9 = MONTH(2025, 10) };

/* The groups of this repository's files. */
static const framework_row GROUPS[] = {
    {.word = "narayanan21", .framework = "megatron-lm-2021"},
    {.word = "megatron20", .framework = "megatron-lm-2020"},
    {.word = "vtrain", .framework = "megatron-lm-2021"},
    {.word = "single_node", .framework = "megatron-lm-2021"},
    {.word = "korthikanti22", .framework = "megatron-lm-2022"},
    {.word = "megascale", .framework = "megascale", .asks_parallel_block = true},
    {.word = "megascale", .framework = "megatron-lm-2023"},
    {.word = "bloom", .framework = "bloom-fp16", .precision = "fp16"},
    {.word = "bloom", .framework = "bloom"},
    {.word = "zerobubble", .framework = "zero-bubble"},
    {.word = "llama3", .framework = "llama3"},
    {.word = "dsv3", .framework = "deepseek-v3"},
    {.word = "nemo2407", .framework = "nemo-2024"},
    {.word = "dgxc", .framework = "nemo"},
    {.word = "mpt", .framework = "composer"},
    {.word = "torchtitan", .framework = "torchtitan"},
    {.word = "simumax", .framework = "simumax"},
    {.word = "megatron_ci", .framework = "megatron-core-2025", .before = CORE_0_15},
    {.word = "megatron_ci_small", .framework = "megatron-core-2025", .before = CORE_0_15},
    {.word = "megatron_ci", .framework = "megatron-core"},
    {.word = "megatron_ci_small", .framework = "megatron-core"},
};

/* Words of sources, the more telling first: recipes name the models of others. */
static const framework_row WORDS[] = {
    {.word = "torchtitan", .framework = "torchtitan-2025", .since = TORCH_2_9},
    {.word = "torchtitan", .framework = "torchtitan"},
    {.word = "dgxc", .framework = "nemo"},
    {.word = "DGX Cloud", .framework = "nemo"},
    {.word = "Megatron-Launcher", .framework = "nemo-2024"}, /* NeMo's until then */
    {.word = "Framework-Launcher", .framework = "nemo-2024"},
    {.word = "NeMo", .framework = "nemo-2024", .before = NEMO_2},
    {.word = "NeMo", .framework = "nemo"},
    {.word = "llm-foundry", .framework = "composer"},
    {.word = "MosaicML", .framework = "composer"},
    {.word = "MegaScale", .framework = "megascale", .asks_parallel_block = true},
    {.word = "MegaScale", .framework = "megatron-lm-2023"},
    {.word = "SimuMax", .framework = "simumax"},
    {.word = "zero bubble", .framework = "zero-bubble"},
    {.word = "zero-bubble", .framework = "zero-bubble"},
    {.word = "BigScience", .framework = "bloom-fp16", .precision = "fp16"},
    {.word = "BigScience", .framework = "bloom"},
    {.word = "Megatron-DeepSpeed", .framework = "megatron-deepspeed-fp16", .precision = "fp16"},
    {.word = "Megatron-DeepSpeed", .framework = "megatron-deepspeed"},
    {.word = "DeepSpeed and Megatron", .framework = "megatron-deepspeed-fp16", .precision = "fp16"},
    {.word = "DeepSpeed and Megatron", .framework = "megatron-deepspeed"},
    {.word = "MLPerf", .framework = "nemo-2024", .before = NEMO_2}, /* NVIDIA's run NeMo */
    {.word = "MLPerf", .framework = "nemo"},
    {.word = "DeepSeek-AI", .framework = "deepseek-v3"},
    {.word = "Insights into DeepSeek", .framework = "deepseek-v3"},
    {.word = "Llama Team", .framework = "llama3"},
    {.word = "Llama 3 Herd", .framework = "llama3"},
    {.word = "PaLM", .framework = "t5x"},
    {.word = "T5X", .framework = "t5x"},
    {.word = "MaxText", .framework = "t5x"},
};

/* An age of the software that most did the same with. */
typedef struct age_row {
    int before;
    const char *framework;
} age_row;

/* Megatron's: ends of a year's results, sequence parallelism (May 2022), FlashAttention (summer of
 * 2023), Megatron Core as a library with Transformer Engine. */
static const age_row MEGATRON[] = {
    {MONTH(2021, 1), "megatron-lm-2020"},
    {MONTH(2022, 5), "megatron-lm-2021"},
    {MONTH(2023, 7), "megatron-lm-2022"},
    {MONTH(2024, 3), "megatron-lm-2023"},
};
static const char MEGATRON_TODAY[] = "megatron-core";

/* Who shards parameters: DeepSpeed's, PyTorch's FSDP of 2022, its second one of 2024. Without a
 * date it is the second one, too, and as it was first. */
static const age_row SHARDED[] = {
    {MONTH(2022, 3), "deepspeed"},
    {MONTH(2024, 7), "composer"},
    {TORCH_2_9, "torchtitan"},
};
static const char SHARDED_TODAY[] = "torchtitan-2025", SHARDED_UNDATED[] = "torchtitan";
enum { ZERO_OF_FSDP = 3 };

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

/* ---- when ---- */

enum { YEAR_FIRST = 2017, YEAR_LAST = 2035, MIDDLE = 6 };
enum { CENTURY = 2000, YEAR_DIGITS = 4, MONTH_DIGITS = 2, RELEASE_DIGITS = 2 };

static int count_digits(const char *text) {
    int count = 0;
    while (isdigit((unsigned char)text[count])) {
        count++;
    }
    return count;
}

static bool is_month(int month) {
    return month >= 1 && month <= 12;
}

/* The month of digits as arXiv numbers papers, 2104.04473; 0: they are none. */
static int month_of_paper(const char *digits) {
    int number = atoi(digits);
    int year = CENTURY + number / 100, month = number % 100;
    bool is_paper = digits[YEAR_DIGITS] == '.' && count_digits(digits + YEAR_DIGITS + 1) == 5;
    return is_paper && year >= YEAR_FIRST && is_month(month) ? MONTH(year, month) : 0;
}

/* The month of a year, "2024-12", "2020-21" (no month), "2022"; 0: the digits are no year. */
static int month_of_year(const char *digits) {
    int year = atoi(digits);
    const char *behind = digits + YEAR_DIGITS;
    int month = *behind == '-' && count_digits(behind + 1) == MONTH_DIGITS ? atoi(behind + 1) : 0;
    if (year < YEAR_FIRST || year > YEAR_LAST || *behind == '.') {
        return 0;
    }
    return MONTH(year, is_month(month) ? month : MIDDLE);
}

/* The month of a release, "24.07"; 0: the digits are none. */
static int month_of_release(const char *digits) {
    int year = CENTURY + atoi(digits);
    const char *behind = digits + RELEASE_DIGITS;
    int month = *behind == '.' && count_digits(behind + 1) == MONTH_DIGITS ? atoi(behind + 1) : 0;
    return year >= YEAR_FIRST && year <= YEAR_LAST && is_month(month) ? MONTH(year, month) : 0;
}

/* A way to write a month, and the digits it begins with. */
typedef struct date_form {
    int (*month_of)(const char *digits);
    int digits;
} date_form;

/* The first month that a text names in this way; 0: none. */
static int first_month(const char *text, const date_form *form) {
    char before = ' ';
    for (const char *at = text; at != NULL && *at != '\0';) {
        int digits = count_digits(at);
        /* not in the middle of a commit's name */
        bool is_alone =
            !isalnum((unsigned char)before) && before != '.' && !isalpha((unsigned char)at[digits]);
        int month = digits == form->digits && is_alone ? form->month_of(at) : 0;
        if (month > 0) {
            return month;
        }
        at += digits > 0 ? digits : 1;
        before = at[-1];
    }
    return 0;
}

/* When a case's software ran, about: a paper's number says it best, then a date, then a release. 0:
 * nothing does. */
static int month_of_case(const ms_case *c) {
    static const date_form FORMS[] = {{month_of_paper, YEAR_DIGITS},
                                      {month_of_year, YEAR_DIGITS},
                                      {month_of_release, RELEASE_DIGITS}};
    const char *const TEXTS[] = {c->provenance, c->source, c->url};
    int month = 0;
    for (size_t f = 0; f < COUNT_OF(FORMS) && month == 0; f++) {
        for (size_t i = 0; i < COUNT_OF(TEXTS) && month == 0; i++) {
            month = first_month(TEXTS[i], &FORMS[f]);
        }
    }
    return month;
}

/* ---- which ---- */

static bool goes_with(const ms_case *c, const framework_row *row) {
    int month = row->since + row->before == 0 ? 0 : month_of_case(c);
    return (!row->asks_parallel_block || c->model.traits.has_parallel_block) &&
           (row->precision == NULL || ms_case_says(c->schedule.precision, row->precision)) &&
           (row->before == 0 || (month > 0 && month < row->before)) && month >= row->since;
}

static const char *of_group(const ms_case *c) {
    for (size_t i = 0; i < COUNT_OF(GROUPS); i++) {
        if (strcmp(GROUPS[i].word, c->group) == 0 && goes_with(c, &GROUPS[i])) {
            return GROUPS[i].framework;
        }
    }
    return NULL;
}

static const char *of_words(const ms_case *c) {
    for (size_t i = 0; i < COUNT_OF(WORDS); i++) {
        bool is_named = ms_case_mentions(c->source, WORDS[i].word) ||
                        ms_case_mentions(c->provenance, WORDS[i].word) ||
                        ms_case_mentions(c->url, WORDS[i].word);
        if (is_named && goes_with(c, &WORDS[i])) {
            return WORDS[i].framework;
        }
    }
    bool is_deepspeed = ms_case_mentions(c->source, "DeepSpeed");
    if (is_deepspeed && !ms_case_mentions(c->source, "Megatron")) {
        return "deepspeed";
    }
    return ms_case_says(c->system.gpu, "TPU") ? "t5x" : NULL;
}

/* The line of a table that a month falls in; 0, no known one, is the last. */
static const char *of_age(int month, const age_row *ages, size_t count, const char *today) {
    for (size_t i = 0; i < count && month > 0; i++) {
        if (month < ages[i].before) {
            return ages[i].framework;
        }
    }
    return today;
}

/* The usual software of a case's day. Nobody who bought GPUs after 2020 bought Volta's. */
static const char *of_day(const ms_case *c) {
    int month = month_of_case(c);
    if (c->parallel.zero == ZERO_OF_FSDP) {
        return month == 0 ? SHARDED_UNDATED
                          : of_age(month, SHARDED, COUNT_OF(SHARDED), SHARDED_TODAY);
    }
    bool is_undated_volta = month == 0 && ms_case_says(c->system.gpu, "V100");
    return of_age(is_undated_volta ? MEGATRON[0].before - 1 : month, MEGATRON, COUNT_OF(MEGATRON),
                  MEGATRON_TODAY);
}

static const char *framework_name(const ms_case *c) {
    const char *name = c->framework != NULL ? c->framework : of_group(c);
    name = name != NULL ? name : of_words(c);
    return name != NULL ? name : of_day(c);
}

/* Read a profile; one that a case names is told at the case if it cannot be read. */
static ms_status read_framework(ms_case_rules *rules, const ms_case *c, const char *name,
                                ms_job_spec *spec_out) {
    ms_buffer reason;
    ms_diag mute;
    ms_buffer_init(&reason);
    ms_diag_init_mute(&mute);
    mute.reason = &reason;
    bool is_named = c->framework != NULL;
    ms_status status = ms_job_spec_of_framework(name, rules->data_folder, rules->arena,
                                                is_named ? &mute : rules->diag, spec_out);
    if (is_named && status == MS_E_NOMEM) {
        status = ms_diag_no_memory(rules->diag);
    } else if (is_named && status != MS_OK) {
        ms_diag_at(rules->diag, &c->mark, c->id, "%s", ms_buffer_text(&reason));
    }
    ms_buffer_release(&reason);
    return status;
}

ms_status ms_case_find_framework(ms_case_rules *rules, const ms_case *c,
                                 const ms_case_framework **framework_out) {
    const char *name = framework_name(c);
    for (const ms_case_framework *known = rules->frameworks; known != NULL; known = known->next) {
        if (strcmp(known->name, name) == 0) {
            *framework_out = known;
            return MS_OK;
        }
    }
    ms_case_framework *framework = MS_NEW(rules->arena, ms_case_framework, 1);
    if (framework == NULL) {
        return ms_diag_no_memory(rules->diag);
    }
    ms_status status = read_framework(rules, c, name, &framework->spec);
    if (status == MS_OK) {
        framework->name = name;
        framework->next = rules->frameworks;
        rules->frameworks = framework;
        *framework_out = framework;
    }
    return status;
}
