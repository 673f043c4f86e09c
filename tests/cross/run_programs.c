/* Calls functions of a compiled library on the machine it was compiled for, with nothing but the runtime:
 *
 *   run_programs LIBRARY CALLS INPUT OUTPUT
 *
 * CALLS is text, one call a line: `name number-of-arguments`, then for each argument
 *   t code bits lanes rank extent...   a tensor, its contents taken from INPUT in order
 *   i value   or   f value             a scalar
 *   d type number                      a device
 * A call that answers with a module makes it the one whose functions are called by names that begin with a dot: of a
 * compiled model `default` with a device, then `.set_input`, `.run` and `.get_output`. After each call the contents of all its tensors are appended to OUTPUT. A failure ends the program with its message and
 * status 1. tests/python/codegen/test_agreement.py writes the files and reads the answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/c_api.h>

#define MAX_ARGS 64
#define MAX_RANK 8

static void fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, TesseraGetLastError());
  exit(1);
}

static void check(int status, const char* what) {
  if (status != 0) fail(what);
}

static FILE* open_file(const char* path, const char* mode) {
  FILE* file = fopen(path, mode);
  if (!file) {
    perror(path);
    exit(1);
  }
  return file;
}

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "malformed input: %s\n", what);
  exit(1);
}

/* Called by name from compiled code: out = in * factor, for float32. */
static int scale(TesseraValue* args, int* codes, int count, TesseraRetHandle ret, void* resource) {
  DLTensor *in = args[0].v_handle, *out = args[1].v_handle;
  (void)codes, (void)ret, (void)resource;
  if (count != 3) return -1;
  for (int64_t i = 0; i < in->shape[0]; ++i) {
    float* from = (float*)((char*)in->data + in->byte_offset);
    float* to = (float*)((char*)out->data + out->byte_offset);
    to[i] = from[i] * (float)args[2].v_float64;
  }
  return 0;
}

/* Called from compiled code by their symbols: integers narrower than a register, and more than fit into registers. */
int32_t test_narrow(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e) {
  return a / 2 + b / 2 + c / 2 + d / 2 + e / 2;
}
int8_t test_negate(int8_t a) { return (int8_t)-a; }
double test_many(int32_t a, int64_t b, float c, int32_t d, int64_t e, double f, float g, int64_t h) {
  return a + (double)b + c + d + (double)e + f + g + (double)h;
}

static DLTensor* read_tensor(FILE* calls, FILE* input, size_t* bytes) {
  int code, bits, lanes, rank;
  long long extent;
  int64_t shape[MAX_RANK];
  DLTensor* tensor;
  expect(fscanf(calls, "%d %d %d %d", &code, &bits, &lanes, &rank) == 4 && rank <= MAX_RANK, "a tensor");
  *bytes = (size_t)(bits * lanes + 7) / 8;
  for (int i = 0; i < rank; ++i) {
    expect(fscanf(calls, "%lld", &extent) == 1, "an extent");
    shape[i] = extent;
    *bytes *= (size_t)extent;
  }
  check(TesseraArrayAlloc(shape, rank, code, bits, lanes, kDLCPU, 0, &tensor), "allocating a tensor");
  void* data = malloc(*bytes + 1);
  expect(fread(data, 1, *bytes, input) == *bytes, "too little data");
  check(TesseraArrayCopyFromBytes(tensor, data, *bytes), "filling a tensor");
  free(data);
  return tensor;
}

static void run_call(TesseraModuleHandle library, TesseraModuleHandle* model, const char* name, int count, FILE* calls,
                     FILE* input, FILE* output) {
  TesseraValue values[MAX_ARGS], result;
  int codes[MAX_ARGS], result_code;
  size_t bytes[MAX_ARGS] = {0};
  TesseraFunctionHandle function = NULL;
  expect(count <= MAX_ARGS, "too many arguments");
  for (int i = 0; i < count; ++i) {
    char kind;
    long long whole;
    expect(fscanf(calls, " %c", &kind) == 1, "an argument");
    if (kind == 't') {
      values[i].v_handle = read_tensor(calls, input, &bytes[i]);
      codes[i] = kTesseraDLTensor;
    } else if (kind == 'i') {
      expect(fscanf(calls, "%lld", &whole) == 1, "an integer");
      values[i].v_int64 = whole;
      codes[i] = kTesseraInt;
    } else if (kind == 'd') {
      int type, number;
      expect(fscanf(calls, "%d %d", &type, &number) == 2, "a device");
      values[i].v_device.device_type = (DLDeviceType)type;
      values[i].v_device.device_id = number;
      codes[i] = kTesseraDevice;
    } else {
      expect(kind == 'f' && fscanf(calls, "%lf", &values[i].v_float64) == 1, "a float");
      codes[i] = kTesseraFloat;
    }
  }
  check(name[0] == '.' ? TesseraModGetFunction(*model, name + 1, 0, &function)
                       : TesseraModGetFunction(library, name, 0, &function),
        name);
  if (!function) {
    fprintf(stderr, "the library has no function %s\n", name);
    exit(1);
  }
  check(TesseraFuncCall(function, values, codes, count, &result, &result_code), name);
  check(TesseraFuncFree(function), name);
  if (result_code == kTesseraModule) *model = result.v_handle;
  for (int i = 0; i < count; ++i) {
    if (codes[i] != kTesseraDLTensor) continue;
    void* data = malloc(bytes[i] + 1);
    check(TesseraArrayCopyToBytes(values[i].v_handle, data, bytes[i]), "reading a tensor");
    expect(fwrite(data, 1, bytes[i], output) == bytes[i], "the answer cannot be written");
    free(data);
    check(TesseraArrayFree(values[i].v_handle), "freeing a tensor");
  }
}

int main(int argc, char** argv) {
  char name[256];
  int count;
  TesseraModuleHandle library, model = NULL;
  TesseraFunctionHandle function;
  if (argc != 5) {
    fprintf(stderr, "usage: run_programs LIBRARY CALLS INPUT OUTPUT\n");
    return 2;
  }
  check(TesseraFuncCreateFromCFunc(scale, NULL, NULL, &function), "test.scale");
  check(TesseraFuncRegisterGlobal("test.scale", function, 1), "test.scale");
  check(TesseraModLoadFromFile(argv[1], "so", &library), "loading the library");
  FILE *calls = open_file(argv[2], "r"), *input = open_file(argv[3], "rb"), *output = open_file(argv[4], "wb");
  while (fscanf(calls, "%255s %d", name, &count) == 2) run_call(library, &model, name, count, calls, input, output);
  if (model) check(TesseraModFree(model), "freeing the model");
  check(TesseraModFree(library), "freeing the library");
  return fclose(output) == 0 ? 0 : 1;
}
