// SPDX-License-Identifier: Apache-2.0
// NVIDIA's management library of a host with four GPUs: 0-1 joined by two NVLinks, 2 behind the
// same PCIe switch as 0, 3 on the other socket. FAKE_NVML=switched: all joined by a switch, 18
// links each. FAKE_NVML=old: the driver serves CUDA 11.8. FAKE_NVML=broken: a driver that does not
// answer. GPU 3 is out of the others' reach, and MIG has cut GPU 2 in two.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr unsigned count = 4;
int numbers[count + 2] = {0, 1, 2, 3, 4, 5};  // the last two are parts of GPU 2

int index_of(void* device) { return *static_cast<int*>(device); }
bool behaves(const char* how) {
    const char* given = std::getenv("FAKE_NVML");
    return given != nullptr && std::strcmp(given, how) == 0;
}

struct Pci {
    char legacy[16];
    unsigned domain, bus, device, pci_device, sub_system;
    char bus_id[32];
};

int copy(char* text, unsigned length, const std::string& value) {
    std::snprintf(text, length, "%s", value.c_str());
    return 0;
}

void write_bus_id(Pci* pci, int index) {
    std::snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", 0x17 + index);
}

}  // namespace

extern "C" {
int nvmlInit_v2() { return behaves("broken") ? 9 : 0; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int) { return "Driver Not Loaded"; }
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
    return copy(text, length, "550.54.15");
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
    return *version = behaves("old") ? 11080 : 12040, 0;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
    return *major = 9, *minor = 0, 0;
}
int nvmlDeviceGetCount_v2(unsigned* found) { return *found = count, 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    return *device = &numbers[index], 0;
}
int nvmlDeviceGetName(void*, char* text, unsigned length) {
    return copy(text, length, "NVIDIA H100 80GB HBM3");
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned length) {
    if (index_of(device) >= static_cast<int>(count))
        return copy(text, length, "MIG-" + std::to_string(index_of(device)) + "f00");
    return copy(text, length, "GPU-" + std::to_string(index_of(device)) + "a1b2c3d");
}
int nvmlDeviceGetPciInfo_v3(void* device, Pci* pci) {
    return write_bus_id(pci, index_of(device)), 0;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* total_free_used) {
    return total_free_used[0] = 85899345920ull, 0;
}
int nvmlDeviceGetTopologyCommonAncestor(void* a, void* b, int* level) {
    const int first = index_of(a), second = index_of(b);
    *level = first == 3 || second == 3 ? 50 : first == 0 && second == 2 ? 10 : 30;
    return 0;
}
int nvmlDeviceGetP2PStatus(void* a, void* b, int, int* status) {
    return *status = index_of(a) == 3 || index_of(b) == 3 ? 1 : 0, 0;
}
int nvmlDeviceGetMaxMigDeviceCount(void* device, unsigned* most) {
    return *most = index_of(device) == 2 ? 7 : 0, 0;
}
int nvmlDeviceGetMigDeviceHandleByIndex(void*, unsigned index, void** part) {
    if (index > 1) return 6;  // not found
    return *part = &numbers[count + index], 0;
}
int nvmlDeviceGetNvLinkState(void* device, unsigned link, int* state) {
    if (behaves("switched")) return *state = 1, 0;
    if (index_of(device) > 1) return 3;  // not supported
    return *state = link < 2 ? 1 : 0, 0;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, int* type) {
    return *type = behaves("switched") ? 2 : 0, 0;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned, Pci* pci) {
    return write_bus_id(pci, 1 - index_of(device)), 0;
}
}
