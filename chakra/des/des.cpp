#include "chakra/des/des.h"  // the queue is a template; this makes sure the header stands alone
