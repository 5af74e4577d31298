// SPDX-License-Identifier: Apache-2.0
#include "launcher/host/nvml.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "launcher/host/shared_library.hpp"

namespace lockstep::launcher {

namespace {

// These are the few necessary declarations of nvml.h. They agree with its versions 10 to 13.
using Device = void*;

struct PciInfo {  // nvmlPciInfo_t
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_sub_system_id;
    char bus_id[32];
};

struct MemoryInfo {  // nvmlMemory_t
    unsigned long long total, free, used;
};

constexpr int success = 0;
constexpr unsigned max_links = 18;  // NVML_NVLINK_MAX_LINKS
constexpr int to_switch = 2;        // NVML_NVLINK_DEVICE_TYPE_SWITCH
constexpr int reading = 0;          // NVML_P2P_CAPS_INDEX_READ

// Maps an nvmlGpuTopologyLevel_t to the words of `nvidia-smi topo -m`.
std::string path_kind(int level) {
    switch (level) {
        case 0:   // on one board
        case 10:  // one PCIe switch
            return "PIX";
        case 20:
            return "PXB";
        case 30:
            return "PHB";
        case 40:
            return "NODE";
        default:
            return "SYS";
    }
}

class Nvml {
public:
    explicit Nvml(const std::string& name) : library_{name} {}

    std::string start(const std::string& root) const {
        if (!library_.opened() && !has_nvidia_gpu(root)) return "no NVIDIA GPU on the PCI bus";
        if (!library_.opened()) return "no NVIDIA driver: " + library_.problem();
        auto* const init = library_.find<int()>("nvmlInit_v2");
        const int code = init == nullptr ? -1 : init();
        return code == success ? "" : "the GPU driver does not answer: " + error(code);
    }

    std::string driver() const {
        std::array<char, 96> text{};
        const bool known = ask<char*, unsigned>("nvmlSystemGetDriverVersion", text.data(),
                                                static_cast<unsigned>(text.size()));
        return known ? text.data() : "unknown";
    }

    std::string cuda() const {
        int version = 0;  // 12040 is 12.4
        if (!ask<int*>("nvmlSystemGetCudaDriverVersion_v2", &version)) return "unknown";
        return std::to_string(version / 1000) + "." + std::to_string(version / 10 % 100);
    }

    std::vector<Device> devices() const {
        unsigned count = 0;
        ask<unsigned*>("nvmlDeviceGetCount_v2", &count);
        std::vector<Device> found;
        for (unsigned i = 0; i < count; ++i) {
            Device device = nullptr;
            // The library refuses GPUs that this user or container may not see; they are left out.
            if (ask<unsigned, Device*>("nvmlDeviceGetHandleByIndex_v2", i, &device))
                found.push_back(device);
        }
        return found;
    }

    Gpu describe(Device device, int index) const {
        std::array<char, 96> name{}, uuid{};
        MemoryInfo memory{};
        int major = 0, minor = 0;
        ask<Device, int*, int*>("nvmlDeviceGetCudaComputeCapability", device, &major, &minor);
        ask<Device, char*, unsigned>("nvmlDeviceGetName", device, name.data(),
                                     static_cast<unsigned>(name.size()));
        ask<Device, char*, unsigned>("nvmlDeviceGetUUID", device, uuid.data(),
                                     static_cast<unsigned>(uuid.size()));
        ask<Device, MemoryInfo*>("nvmlDeviceGetMemoryInfo", device, &memory);
        Gpu gpu{index,
                name.data(),
                uuid.data(),
                bus_id("nvmlDeviceGetPciInfo_v3", device),
                static_cast<std::int64_t>(memory.total),
                parts_of(device)};
        gpu.compute_capability = 10 * major + minor;
        return gpu;
    }

    GpuLink link(const std::vector<Device>& devices, const std::vector<Gpu>& gpus, std::size_t a,
                 std::size_t b) const {
        const int nvlinks = links_between(devices[a], devices[b], gpus[b].pci);
        int level = 50;
        ask<Device, Device, int*>("nvmlDeviceGetTopologyCommonAncestor", devices[a], devices[b],
                                  &level);
        return {gpus[a].index, gpus[b].index,
                nvlinks > 0 ? "NV" + std::to_string(nvlinks) : path_kind(level),
                peer_access(devices[a], devices[b])};
    }

    void stop() const { ask<>("nvmlShutdown"); }

private:
    template <class... Arguments>
    bool ask(const char* function, Arguments... arguments) const {
        auto* const call = library_.find<int(Arguments...)>(function);
        return call != nullptr && call(arguments...) == success;
    }

    std::string error(int code) const {
        auto* const text = library_.find<const char*(int)>("nvmlErrorString");
        return text == nullptr ? "code " + std::to_string(code) : text(code);
    }

    std::string bus_id(const char* function, Device device) const {
        PciInfo pci{};
        return ask<Device, PciInfo*>(function, device, &pci) ? pci.bus_id : "";
    }

    std::vector<std::string> parts_of(Device device) const {
        unsigned most = 0;
        ask<Device, unsigned*>("nvmlDeviceGetMaxMigDeviceCount", device, &most);
        std::vector<std::string> parts;
        for (unsigned i = 0; i < most; ++i) {
            Device part = nullptr;
            std::array<char, 96> uuid{};
            const bool there = ask<Device, unsigned, Device*>("nvmlDeviceGetMigDeviceHandleByIndex",
                                                              device, i, &part);
            if (there && ask<Device, char*, unsigned>("nvmlDeviceGetUUID", part, uuid.data(),
                                                      static_cast<unsigned>(uuid.size())))
                parts.push_back(uuid.data());
        }
        return parts;
    }

    // A driver that does not report peer access is assumed to allow it.
    bool peer_access(Device a, Device b) const {
        int status = 0;
        const bool known =
            ask<Device, Device, int, int*>("nvmlDeviceGetP2PStatus", a, b, reading, &status);
        return !known || status == 0;
    }

    // A switch connects every link to every GPU.
    int links_between(Device from, Device to, const std::string& to_bus_id) const {
        const int switched = std::min(links_to_switch(from), links_to_switch(to));
        if (switched > 0) return switched;
        int found = 0;
        for (unsigned link = 0; link < max_links; ++link) {
            PciInfo remote{};
            const bool leads = active(from, link) &&
                               ask<Device, unsigned, PciInfo*>(
                                   "nvmlDeviceGetNvLinkRemotePciInfo_v2", from, link, &remote);
            if (leads && remote.bus_id == to_bus_id) ++found;
        }
        return found;
    }

    int links_to_switch(Device device) const {
        int found = 0;
        for (unsigned link = 0; link < max_links; ++link) {
            int type = 0;
            const bool known = active(device, link) &&
                               ask<Device, unsigned, int*>("nvmlDeviceGetNvLinkRemoteDeviceType",
                                                           device, link, &type);
            if (known && type == to_switch) ++found;
        }
        return found;
    }

    bool active(Device device, unsigned link) const {
        int state = 0;
        return ask<Device, unsigned, int*>("nvmlDeviceGetNvLinkState", device, link, &state) &&
               state == 1;
    }

    SharedLibrary library_;
};

bool whole_number(const std::string& word) {
    return !word.empty() && word.size() < 9 &&
           std::all_of(word.begin(), word.end(),
                       [](unsigned char c) { return std::isdigit(c) != 0; });
}

// A MIG part has its own UUID. Old drivers derive its name from its GPU's UUID:
// "MIG-GPU-8a56.../1/0".
bool is_part(const Gpu& gpu, const std::string& word) {
    if (word.starts_with("MIG-GPU-")) return word.substr(4, word.find('/') - 4) == gpu.uuid;
    return std::any_of(gpu.parts.begin(), gpu.parts.end(),
                       [&](const std::string& part) { return part.starts_with(word); });
}

bool is_named(const Gpu& gpu, const std::string& word) {
    if (whole_number(word)) return gpu.index == std::stoi(word);
    if (word.starts_with("MIG-")) return is_part(gpu, word);
    return !word.empty() && gpu.uuid.starts_with(word);
}

const Gpu* named(const GpuHost& host, const std::string& word) {
    const auto found = std::find_if(host.gpus.begin(), host.gpus.end(),
                                    [&](const Gpu& gpu) { return is_named(gpu, word); });
    return found == host.gpus.end() ? nullptr : &*found;
}

}  // namespace

GpuHost gpu_host(const std::string& library, const std::string& root) {
    GpuHost host;
    const Nvml nvml(library);
    host.absent = nvml.start(root);
    if (!host.absent.empty()) return host;
    host.driver = nvml.driver();
    host.cuda = nvml.cuda();
    const std::vector<Device> devices = nvml.devices();
    for (std::size_t i = 0; i < devices.size(); ++i)
        host.gpus.push_back(nvml.describe(devices[i], static_cast<int>(i)));
    for (std::size_t a = 0; a < devices.size(); ++a) {
        for (std::size_t b = a + 1; b < devices.size(); ++b)
            host.links.push_back(nvml.link(devices, host.gpus, a, b));
    }
    nvml.stop();
    return host;
}

std::vector<int> visible_gpus(const GpuHost& host, const std::string& cuda_visible_devices) {
    std::vector<int> visible;
    if (cuda_visible_devices == all_devices) {
        for (const Gpu& gpu : host.gpus) visible.push_back(gpu.index);
        return visible;
    }
    std::istringstream words(cuda_visible_devices);
    for (std::string word; std::getline(words, word, ',');) {
        const Gpu* gpu = named(host, word);
        if (gpu == nullptr) break;
        visible.push_back(gpu->index);
    }
    return visible;
}

}  // namespace lockstep::launcher
