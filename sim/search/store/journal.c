/* Checks the rollback journal beside a store before SQLite opens the store. A process that was
 * killed leaves its journal there, and SQLite rolls the unfinished transaction back with it; a
 * journal that somebody else made could make SQLite delete any file. */
#include "search/store/journal.h"

#include <stdio.h>
#include <string.h>

#include "base/failure.h"
#include "base/text.h"

/* The last eight bytes of a journal that names a super-journal, as for a transaction over several
 * databases. SQLite may then delete the named file, whatever that file is. Source:
 * sqlite.org/fileformat2.html, and writeSuperJournal and pager_delsuper in SQLite's source. */
static const unsigned char NAMES_ANOTHER[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};

/* Whether a journal names another file. journal: open for reading; its position changes. */
static bool names_another(FILE *journal) {
    unsigned char end[sizeof NAMES_ANOTHER];
    return fseek(journal, -(long)sizeof end, SEEK_END) == 0 &&
           fread(end, 1, sizeof end, journal) == sizeof end &&
           memcmp(end, NAMES_ANOTHER, sizeof end) == 0;
}

/* SQLite's journal of the file STORE is STORE-journal; without such a file there is nothing to
 * check. */
ms_status ms_store_check_journal(const char *store, ms_arena *arena, ms_diag *diag) {
    const char *path = ms_arena_printf(arena, "%s-journal", store);
    if (path == NULL) {
        return ms_diag_no_memory(diag);
    }
    FILE *journal = fopen(path, "re");
    if (journal == NULL) {
        return MS_OK;
    }
    bool is_foreign = names_another(journal);
    fclose(journal);
    if (is_foreign) {
        ms_diag_error(
            diag,
            "the journal '%s' of the store names another file, which SQLite would delete; "
            "meshsim writes no such journal",
            path);
    }
    return is_foreign ? MS_E_INPUT : MS_OK;
}
