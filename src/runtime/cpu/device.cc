// The CPU as a device: aligned memory, plain copies, no streams.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "runtime/device_api.h"
#include "runtime/ndarray.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

/// Linux promises more memory than there is and ends the process that uses it; such a promise is not asked for.
uint64_t memory_of_machine() {  // a 32-bit process may run on a machine with more than it can count
  static const auto bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// From this size on memory lies in huge pages where Linux has them: walking through it misses the TLB rarely.
constexpr size_t kHugeFrom = size_t(4) << 20, kHugePage = size_t(2) << 20;

class CpuDevice final : public DeviceAPI {
 public:
  Any get_attr(DLDevice, DeviceAttr attr) override { return attr == DeviceAttr::Exist ? Any(1) : Any(); }

  void* alloc(DLDevice device, size_t bytes, size_t alignment, DataType) override {
    alignment = std::max(alignment, bytes >= kHugeFrom ? kHugePage : sizeof(void*));
    void* data = nullptr;
    if (bytes > memory_of_machine() || posix_memalign(&data, alignment, std::max<size_t>(bytes, 1)) != 0)
      throw Error(RuntimeError) << "out of memory: " << device_text(device) << " has no " << bytes << " bytes left of "
                                << memory_of_machine();
#if defined(MADV_HUGEPAGE)
    if (bytes >= kHugeFrom) madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);  // a wish; no harm if rejected
#endif
    return data;
  }

  void free(DLDevice, void* data) override { std::free(data); }

  void copy(const DLTensor* from, DLTensor* to, Stream) override {
    std::memmove(data_of(to), data_of(from), tensor_bytes(from));
  }

  void sync(DLDevice, Stream) override {}
};

RegisterDevice<CpuDevice> registered(kDLCPU);

Globals device_globals{{"device_api.cpu", [] { return static_cast<void*>(find_device_api(kDLCPU)); }}};

}  // namespace
}  // namespace tessera
