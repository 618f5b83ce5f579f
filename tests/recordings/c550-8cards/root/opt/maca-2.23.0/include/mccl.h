#define MCCL_MAJOR 2
#define MCCL_MINOR 11
#define MCCL_PATCH 4
