#include "meshsim/config.h"
