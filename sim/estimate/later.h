/* The later of two times, in line: estimates ask for it more often than for anything else. */
#ifndef MS_ESTIMATE_LATER_H
#define MS_ESTIMATE_LATER_H

/* b may be NAN, for nothing that is waited for. */
static inline double ms_later_s(double a, double b) {
    return b > a ? b : a;
}

#endif
