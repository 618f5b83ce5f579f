#define MCCL_MAJOR 2
#define MCCL_MINOR 16
#define MCCL_PATCH 5
