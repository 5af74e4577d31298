// SPDX-License-Identifier: Apache-2.0
// NVTX finds this profiler by NVTX_INJECTION64_PATH. It writes each begin ("+name") and end ("-")
// of a range to the file NVTX_RECORD, after the number of the thread.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>

namespace {

std::FILE* record() {
    static std::FILE* const file = std::fopen(std::getenv("NVTX_RECORD"), "w");
    return file;
}

unsigned thread_number() {
    static unsigned threads = 0;
    static thread_local const unsigned number = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
    return number;
}

int push(const char* name) {
    std::fprintf(record(), "%u +%s\n", thread_number(), name);
    return 0;
}

int pop() {
    std::fprintf(record(), "%u -\n", thread_number());
    return 0;
}

}  // namespace

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table) {
    const auto* callbacks =
        static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
    NvtxFunctionTable functions = nullptr;
    unsigned count = 0;
    if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &functions, &count) == 0) return 0;
    *functions[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(&push);
    *functions[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(&pop);
    return 1;
}
