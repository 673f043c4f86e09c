/* A C program that knows only tessera/c_api.h: functions both ways, errors, a tensor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/c_api.h>

static int finalized = 0;

#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition, TesseraGetLastError()); \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

/* Adds its integer arguments to *(int64_t*)resource. */
static int add_all(TesseraValue* args, int* type_codes, int num_args, TesseraRetHandle ret, void* resource) {
  TesseraValue sum;
  int code = kTesseraInt;
  int i;
  sum.v_int64 = *(int64_t*)resource;
  for (i = 0; i < num_args; ++i) {
    if (type_codes[i] != kTesseraInt) {
      TesseraAPISetLastError("TypeError: add_all takes integers");
      return -1;
    }
    sum.v_int64 += args[i].v_int64;
  }
  return TesseraCFuncSetReturn(ret, &sum, &code, 1);
}

static void forget(void* resource) {
  free(resource);
  ++finalized;
}

static void a_c_function_is_called_by_name(void) {
  TesseraFunctionHandle made, found;
  TesseraValue args[2], ret;
  int codes[2] = {kTesseraInt, kTesseraInt}, ret_code;
  int64_t* start = malloc(sizeof *start);
  *start = 100;
  CHECK(TesseraFuncCreateFromCFunc(add_all, start, forget, &made) == 0);
  CHECK(TesseraFuncRegisterGlobal("test.c.add_all", made, 0) == 0);
  CHECK(TesseraFuncRegisterGlobal("test.c.add_all", made, 0) == -1);
  CHECK(strstr(TesseraGetLastError(), "test.c.add_all") != NULL);
  CHECK(TesseraFuncFree(made) == 0);

  CHECK(TesseraFuncGetGlobal("test.c.add_all", &found) == 0 && found != NULL);
  args[0].v_int64 = 1;
  args[1].v_int64 = 2;
  CHECK(TesseraFuncCall(found, args, codes, 2, &ret, &ret_code) == 0);
  CHECK(ret_code == kTesseraInt && ret.v_int64 == 103);

  codes[1] = kTesseraFloat;
  CHECK(TesseraFuncCall(found, args, codes, 2, &ret, &ret_code) == -1);
  CHECK(strcmp(TesseraGetLastError(), "TypeError: add_all takes integers") == 0);

  CHECK(TesseraFuncFree(found) == 0 && finalized == 0);
  CHECK(TesseraFuncRemoveGlobal("test.c.add_all") == 0 && finalized == 1);
  CHECK(TesseraFuncGetGlobal("test.c.add_all", &found) == 0 && found == NULL);
}

static void a_string_comes_back_as_a_string(void) {
  TesseraFunctionHandle echo;
  TesseraValue arg, ret;
  int code = kTesseraStr, ret_code;
  CHECK(TesseraFuncGetGlobal("testing.echo", &echo) == 0 && echo != NULL);
  arg.v_str = "hello";
  CHECK(TesseraFuncCall(echo, &arg, &code, 1, &ret, &ret_code) == 0);
  CHECK(ret_code == kTesseraStr && strcmp(ret.v_str, "hello") == 0 && ret.v_str != arg.v_str);
  CHECK(TesseraFuncFree(echo) == 0);
}

static void bytes_come_back_as_bytes(void) {
  TesseraFunctionHandle echo;
  TesseraByteArray data = {"a\0b", 3}, *got;
  TesseraValue arg, ret;
  int code = kTesseraBytes, ret_code;
  CHECK(TesseraFuncGetGlobal("testing.echo", &echo) == 0);
  arg.v_handle = &data;
  CHECK(TesseraFuncCall(echo, &arg, &code, 1, &ret, &ret_code) == 0 && ret_code == kTesseraBytes);
  got = ret.v_handle;
  CHECK(got->size == 3 && memcmp(got->data, "a\0b", 3) == 0);
  CHECK(TesseraByteArrayFree(got) == 0);
  CHECK(TesseraFuncFree(echo) == 0);
}

static void a_tensor_is_made_filled_and_shared(void) {
  int64_t shape[2] = {2, 3};
  float in[6] = {0, 1, 2, 3, 4, 5}, out[6];
  TesseraArrayHandle array, shared;
  DLManagedTensor* managed;
  TesseraFunctionHandle echo;
  TesseraValue arg, ret;
  int code = kTesseraNDArray, ret_code;

  CHECK(TesseraArrayAlloc(shape, 2, kDLFloat, 32, 1, kDLCPU, 0, &array) == 0);
  CHECK(array->ndim == 2 && array->shape[1] == 3 && (uintptr_t)array->data % 64 == 0);
  CHECK(TesseraArrayCopyFromBytes(array, in, sizeof in) == 0);
  CHECK(TesseraArrayCopyFromBytes(array, in, sizeof in - 1) == -1);
  CHECK(strstr(TesseraGetLastError(), "(2, 3) float32") != NULL);

  CHECK(TesseraArrayToDLPack(array, &managed) == 0);
  CHECK(TesseraArrayFree(array) == 0); /* the description keeps the memory */
  CHECK(TesseraArrayFromDLPack(managed, &shared) == 0);

  CHECK(TesseraFuncGetGlobal("testing.echo", &echo) == 0);
  arg.v_handle = shared;
  CHECK(TesseraFuncCall(echo, &arg, &code, 1, &ret, &ret_code) == 0 && ret_code == kTesseraNDArray);
  CHECK(ret.v_handle == shared);
  CHECK(TesseraArrayFree(ret.v_handle) == 0 && TesseraFuncFree(echo) == 0);

  CHECK(TesseraArrayCopyToBytes(shared, out, sizeof out) == 0 && memcmp(in, out, sizeof in) == 0);
  CHECK(TesseraArrayFree(shared) == 0);
}

static void what_cannot_be_is_an_error(void) {
  int64_t shape[1] = {-1};
  int64_t huge[2] = {INT64_MAX, 4};
  TesseraArrayHandle array;
  TesseraModuleHandle module;
  CHECK(TesseraArrayAlloc(shape, 1, kDLFloat, 32, 1, kDLCPU, 0, &array) == -1);
  CHECK(TesseraArrayAlloc(huge, 2, kDLFloat, 32, 1, kDLCPU, 0, &array) == -1);
  CHECK(TesseraArrayAlloc(huge, 1, kDLFloat, 32, 1, kDLMetal, 0, &array) == -1);
  CHECK(TesseraModLoadFromFile("no/such/file.so", "", &module) == -1);
  CHECK(strstr(TesseraGetLastError(), "no/such/file.so") != NULL);
  CHECK(TesseraFuncCall(NULL, NULL, NULL, 0, NULL, NULL) == -1);
}

static void object_types_have_names(void) {
  unsigned object, array;
  int derived;
  char* key;
  CHECK(TesseraObjectTypeKey2Index("runtime.Object", &object) == 0);
  CHECK(TesseraObjectTypeKey2Index("Array", &array) == 0);
  CHECK(TesseraObjectDerivedFrom(array, object, &derived) == 0 && derived);
  CHECK(TesseraObjectDerivedFrom(object, array, &derived) == 0 && !derived);
  CHECK(TesseraObjectTypeIndex2Key(array, &key) == 0 && strcmp(key, "Array") == 0);
  free(key);
}

int main(void) {
  a_c_function_is_called_by_name();
  a_string_comes_back_as_a_string();
  bytes_come_back_as_bytes();
  a_tensor_is_made_filled_and_shared();
  what_cannot_be_is_an_error();
  object_types_have_names();
  return 0;
}
