// The interface between the executor and its plugin for PyTorch's operators: plain C without types of torch, so
// that the two can be built by different compilers, against any libtorch. Memory belongs to its creator and must
// live as long as the call, except results of open() and chakra_torch_interface(). Text is zero-terminated.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Must increase with every change below.
#define CHAKRA_TORCH_ABI 1

/// chakra_torch_tensor::storage of sparse tensors and others without storage: the id alone identifies the tensor.
#define CHAKRA_TORCH_NO_STORAGE UINT32_MAX

typedef struct chakra_torch_tensor {
  int64_t id;        ///< recorded; ids are reused
  uint32_t storage;  ///< number of its piece of memory: one life of a recorded storage
  uint32_t dims;
  uint64_t storage_bytes;  ///< end of the furthest use of that memory
  int64_t offset;          ///< in elements
  int64_t elements, item_bytes;
  const int64_t* sizes;    ///< `dims` of them
  const int64_t* strides;  ///< `dims` of them; null if not recorded
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
  CHAKRA_TORCH_UNKNOWN  ///< a value that was not recorded: a stream, a storage, an object; `text` describes it
};

typedef struct chakra_torch_value {
  uint32_t kind;
  int64_t integer;  ///< also of a boolean; of a list: number of items
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
  /// Names of the inputs by the recorded schema, or null if their number differs.
  const char* const* input_names;
} chakra_torch_operator;

typedef struct chakra_torch_result {
  /// Whether the outputs have the recorded shapes; also 1 if no output is a tensor.
  int32_t same_shapes;
  int32_t substituted;      ///< run by another operator or by a function of the plugin
  int32_t in_float;         ///< run in float32, since this libtorch has no kernel of the recorded type
  uint32_t unknown_inputs;  ///< recorded arguments that the local schema does not have
  char message[480];        ///< reason why the operator did not run, or the shape that differs
} chakra_torch_result;

typedef struct chakra_torch_session chakra_torch_session;

typedef struct chakra_torch_interface_table {
  uint32_t abi;  ///< CHAKRA_TORCH_ABI
  const char* torch_version;
  /// Open a library that registers operators. Return null, or an error (valid until the next call).
  const char* (*load_library)(const char* path);
  /// Set the number of threads per operator.
  void (*set_threads)(int32_t threads);
  /// Return whether the operator, or a substitute for it, is available.
  int32_t (*knows)(const char* name, const char* overload);
  chakra_torch_session* (*open)(void);
  void (*close)(chakra_torch_session*);
  /// Run an operator: create missing memory of its inputs and keep its outputs. Return 1 if it ran.
  int32_t (*run)(chakra_torch_session*, const chakra_torch_operator*, chakra_torch_result*);
  /// Release memory that is no longer needed.
  void (*release)(chakra_torch_session*, uint32_t storage);
  /// Record further operators of this process with PyTorch to a file; null ends the recording. Return null or an error.
  const char* (*record)(const char* file);
} chakra_torch_interface_table;

/// The only exported symbol of the plugin.
const chakra_torch_interface_table* chakra_torch_interface(void);

#ifdef __cplusplus
}
#endif
