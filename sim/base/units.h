/**
 * @file
 * Reads and writes quantities with units. Suffixes exist in YAML files, on the command line and in
 * output only; all values inside the program are in SI units.
 *
 * Bytes: B kB MB GB TB PB (powers of 1000), KiB MiB GiB TiB PiB (powers of 1024). Bandwidth: a byte
 * unit with /s, or bit/s kbit/s Mbit/s Gbit/s Tbit/s. Time: s ms us ns ps min h d. FLOP rate:
 * FLOP/s with k M G T P E. FLOP: FLOP with the same prefixes. Power: W kW MW. Energy: J kJ MJ GJ TJ
 * kWh. Price: USD/h, as rents are quoted. Suffixes are case-sensitive; a space before one is
 * optional.
 */
#ifndef MESHSIM_UNITS_H
#define MESHSIM_UNITS_H

#include <stddef.h>

#include "base/status.h"

/** The dimension of a number. */
typedef enum ms_dimension {
    MS_DIM_NONE,      /**< a pure number; no suffix allowed, except % which divides by 100 */
    MS_DIM_TIME,      /**< seconds */
    MS_DIM_BYTES,     /**< bytes */
    MS_DIM_BANDWIDTH, /**< bytes per second */
    MS_DIM_FLOP_RATE, /**< FLOP per second */
    MS_DIM_FLOP,      /**< FLOP */
    MS_DIM_POWER,     /**< watts */
    MS_DIM_ENERGY,    /**< joules */
    MS_DIM_PRICE,     /**< US dollars per hour */
    MS_DIM_COUNT,
} ms_dimension;

/** Read a number with a compulsory unit, and convert it to SI.
 *  text: such as "400 Gbit/s"; leading and trailing spaces are allowed; 0 needs its unit too.
 *  *value_out: in the SI unit of the dimension, finite and >= 0.  *reason_out: on failure, static
 * text of what was expected.  Returns MS_OK; MS_E_INPUT, *value_out is then unchanged. */
ms_status ms_unit_parse(const char *text, ms_dimension dimension, double *value_out,
                        const char **reason_out);

/** Read a pure number of either sign: digits with at most one point, an exponent, and "%", which
 * divides by 100.  text: such as "-0.5", "1e9", "5 %"; no hexadecimal, no inf, no nan, no
 * underscores.  *value_out: finite.  Returns MS_OK; MS_E_INPUT, *value_out is then unchanged. */
ms_status ms_number_parse(const char *text, double *value_out);

/** Why ms_unit_parse refuses a text, in full: what was expected, what was found, and the unit that
 * was probably meant.  text: one that ms_unit_parse refuses.  text_out: [size] bytes, always
 * NUL-terminated; 512 hold every message about a text of up to 100 bytes, such as "'3 GB' is a
 * size, expected a bandwidth such as '400 Gbit/s'".  Returns text_out. */
char *ms_unit_explain(const char *text, ms_dimension dimension, char *text_out, size_t size);

/** Write a value for people, with three to four significant digits and a fitting unit, such as
 * "87.9 ms" or "1.5 GiB".  value: in the SI unit of the dimension.  text_out: [size] bytes, always
 * NUL-terminated.  Returns text_out. */
char *ms_unit_format(double value, ms_dimension dimension, char *text_out, size_t size);

/** Write a bandwidth in bits per second, such as "400 Gbit/s": networks are sold in bits, and
 * platform files give their links in bits.  Returns text_out. */
char *ms_unit_format_bits(double value_Bps, char *text_out, size_t size);

/** Write a memory's capacity, followed by the decimal unit that vendors use, such as "131.3 GiB
 * (141 GB)".  Returns text_out. */
char *ms_unit_format_capacity(double value_B, char *text_out, size_t size);

/** An example of a well-formed value, such as "400 Gbit/s"; static storage. */
const char *ms_unit_example(ms_dimension dimension);

/** All suffixes of a dimension, such as "s ms us" where `between` is a space; "" for pure numbers.
 * text_out: [size] bytes, always NUL-terminated; 256 hold every list with single characters
 * between.  Returns text_out. */
char *ms_unit_names(ms_dimension dimension, const char *between, char *text_out, size_t size);

/** The SI unit of a dimension, such as "B/s"; "" for pure numbers; static storage. */
const char *ms_unit_si(ms_dimension dimension);

#endif
