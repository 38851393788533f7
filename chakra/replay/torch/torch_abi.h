// What the replay and its plugin of PyTorch's operators agree on: plain C, so that the two may be built by different
// compilers, against any libtorch. No type of torch is in here. All memory belongs to who made it, and lives as long as
// the call, but for what open() and chakra_torch_interface() return. Text ends with a zero.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Rises with every change of what is below.
#define CHAKRA_TORCH_ABI 1

/// chakra_torch_tensor::storage of a sparse tensor and the like: it is known by its id alone.
#define CHAKRA_TORCH_NO_STORAGE UINT32_MAX

typedef struct chakra_torch_tensor {
  int64_t id;        ///< recorded; ids are used again
  uint32_t storage;  ///< number of the piece of memory it lies in: of one life of a recorded storage
  uint32_t dims;
  uint64_t storage_bytes;  ///< how far the furthest use of that memory goes
  int64_t offset;          ///< in elements
  int64_t elements, item_bytes;
  const int64_t* sizes;    ///< `dims` of them
  const int64_t* strides;  ///< likewise; null where they were not recorded
  const char* dtype;       ///< as recorded: "float", "long int", "c10::BFloat16"
} chakra_torch_tensor;

enum chakra_torch_kind {
  CHAKRA_TORCH_NONE,
  CHAKRA_TORCH_INTEGER,
  CHAKRA_TORCH_REAL,
  CHAKRA_TORCH_BOOLEAN,
  CHAKRA_TORCH_TEXT,  ///< a string or a device
  CHAKRA_TORCH_TENSOR,
  CHAKRA_TORCH_LIST,
  CHAKRA_TORCH_UNKNOWN  ///< what the recording has no value of: a stream, a storage, an object; `text` says what
};

typedef struct chakra_torch_value {
  uint32_t kind;
  int64_t integer;  ///< also of a boolean; of a list the number of its items
  double real;
  const char* text;
  const chakra_torch_tensor* tensor;
  const struct chakra_torch_value* items;
} chakra_torch_value;

typedef struct chakra_torch_operator {
  const char* name;      ///< "aten::add"
  const char* overload;  ///< "Tensor", or ""
  uint32_t inputs, outputs;
  const chakra_torch_value *input, *output;
  /// Names of the inputs by the recorded schema, or null where it does not say as many.
  const char* const* input_names;
} chakra_torch_operator;

typedef struct chakra_torch_result {
  /// Whether the outputs have the recorded shapes; 1 also where none are tensors.
  int32_t same_shapes;
  int32_t substituted;      ///< another operator or a function of the plugin stood for it
  int32_t in_float;         ///< done in float32, since this libtorch has no kernel of the recorded type
  uint32_t unknown_inputs;  ///< recorded arguments that the local schema does not have
  char message[480];        ///< why it did not run, or which shape differs
} chakra_torch_result;

typedef struct chakra_torch_session chakra_torch_session;

typedef struct chakra_torch_interface_table {
  uint32_t abi;  ///< CHAKRA_TORCH_ABI
  const char* torch_version;
  /// Opens a library that registers operators. Null, or why not (valid until the next call).
  const char* (*load_library)(const char* path);
  /// How many threads an operator takes.
  void (*set_threads)(int32_t threads);
  /// Whether it is known here, itself or a substitute.
  int32_t (*knows)(const char* name, const char* overload);
  chakra_torch_session* (*open)(void);
  void (*close)(chakra_torch_session*);
  /// Runs an operator: makes what it needs of memory that is not there, keeps what comes out. 1: it ran.
  int32_t (*run)(chakra_torch_session*, const chakra_torch_operator*, chakra_torch_result*);
  /// Nothing needs this memory any more.
  void (*release)(chakra_torch_session*, uint32_t storage);
  /// Has PyTorch record what it runs from now on, in this process, to a file; null ends that. Null, or why not.
  const char* (*record)(const char* file);
} chakra_torch_interface_table;

/// The only name that the plugin exports.
const chakra_torch_interface_table* chakra_torch_interface(void);

#ifdef __cplusplus
}
#endif
