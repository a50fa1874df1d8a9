/**
 * @file
 * Lists of numbers as people write them: "0-7,12".
 */
#ifndef MESHSIM_RANGES_H
#define MESHSIM_RANGES_H

/** Numbers that a text names one by one or as ranges, in its order: "0,2,8-10" is 0, 2, 8, 9, 10.
 *  text: without blanks.  limit: numbers are below it, and there are no more than it.  numbers_out:
 * [returned], or NULL to count only.  Returns how many there are, at least 1; -1 where the text is
 * no such list, with anything in numbers_out.  O(numbers). */
int ms_ranges_read(const char *text, int limit, int *numbers_out);

#endif
