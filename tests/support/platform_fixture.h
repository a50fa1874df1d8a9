/* Platforms for tests: a shipped file with overrides, or a text, with diagnostics kept. */
#ifndef MS_PLATFORM_FIXTURE_H
#define MS_PLATFORM_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "cluster/platform/platform.h"

typedef struct platform_fixture {
    ms_arena arena;
    ms_diag diag;
    ms_buffer messages; /* all diagnostics so far */
    ms_platform platform;
    const ms_node *document;
} platform_fixture;

static inline void fixture_keep(void *context, const char *text) {
    ms_buffer_puts(context, text);
}

static inline void fixture_init(platform_fixture *fixture) {
    memset(fixture, 0, sizeof *fixture);
    ms_arena_init(&fixture->arena);
    ms_buffer_init(&fixture->messages);
    ms_diag_init(&fixture->diag, fixture_keep, &fixture->messages);
}

static inline void fixture_release(platform_fixture *fixture) {
    ms_buffer_release(&fixture->messages);
    ms_arena_release(&fixture->arena);
}

/* Load platforms/NAME.yaml of the source tree; overrides: YAML text or NULL. */
static inline ms_status fixture_load(platform_fixture *fixture, const char *name,
                                     const char *overrides) {
    const char *const folders[] = {MS_SOURCE_DIR "/platforms", NULL};
    ms_node *over = NULL;
    if (overrides != NULL) {
        ms_status status = ms_yaml_parse(overrides, strlen(overrides), "overrides", &fixture->arena,
                                         &fixture->diag, &over);
        cr_assert_eq(status, MS_OK, "%s", ms_buffer_text(&fixture->messages));
    }
    return ms_platform_load(name, folders, over, &fixture->arena, &fixture->diag,
                            &fixture->platform, &fixture->document);
}

/* The same, and it must succeed. */
static inline const ms_platform *fixture_platform(platform_fixture *fixture, const char *name,
                                                  const char *overrides) {
    fixture_init(fixture);
    ms_status status = fixture_load(fixture, name, overrides);
    cr_assert_eq(status, MS_OK, "%s: %s", name, ms_buffer_text(&fixture->messages));
    return &fixture->platform;
}

#endif
