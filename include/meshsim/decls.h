/**
 * @file
 * How every public header opens and closes its declarations: C linkage for programs in C++, and
 * default visibility, because the library itself is compiled with all else hidden.
 */
#ifndef MESHSIM_DECLS_H
#define MESHSIM_DECLS_H

/** @def MS_BEGIN_DECLS
 * What stands before a header's declarations. */
/** @def MS_END_DECLS
 * What stands behind them. */
#ifdef __cplusplus
#define MS_BEGIN_DECLS                                                                             \
    extern "C" {                                                                                   \
    _Pragma("GCC visibility push(default)")
#define MS_END_DECLS                                                                               \
    _Pragma("GCC visibility pop")                                                                  \
    }
#else
#define MS_BEGIN_DECLS _Pragma("GCC visibility push(default)")
#define MS_END_DECLS   _Pragma("GCC visibility pop")
#endif

#endif
