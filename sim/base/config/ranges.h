/**
 * @file
 * Reads lists of numbers and ranges as people write them: "0-7,12".
 */
#ifndef MESHSIM_RANGES_H
#define MESHSIM_RANGES_H

/** The numbers of a text, single or as ranges, in its order: "0,2,8-10" is 0, 2, 8, 9, 10.
 *  text: without blanks.  limit: every number must be below it, and there may be at most so many
 * numbers.  numbers_out: [returned], or NULL to count only.  Returns how many numbers there are,
 * at least 1; -1 where the text is no such list, with undefined contents of numbers_out.
 * O(numbers). */
int ms_ranges_read(const char *text, int limit, int *numbers_out);

#endif
