#include "meshsim/units.h"
