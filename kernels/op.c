/* What the operations that a backend runs are called. */
#include "backend.h"

const char *op_name(enum op_kind kind)
{
    switch (kind) {
    case OP_TAPS:
        return "taps";
    case OP_HEAT:
        return "heat";
    case OP_UNSHARP:
        return "unsharp";
    case OP_GRADIENT:
        return "gradient";
    }
    return "";
}
