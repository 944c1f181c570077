#include "experiments/commands/commands.h"
