// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/config.hpp"
#include "model/decoding/decoder.hpp"
#include "runtime/batch/batch.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/nccl/gpu_backend.hpp"
#include "runtime/comm/watch/rank_progress.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/kernels/loss_sums.hpp"
#include "runtime/train/step/engine.hpp"

namespace lockstep::model {

// A model on one device: its weights and what computes with them. Whatever it gives out must not
// outlive it. Used from one thread.
class DeviceModel {
public:
    virtual ~DeviceModel() = default;

    virtual const train::ParameterTable& parameters() const noexcept = 0;

    // The usual initial weights, a pure function of the seed; or those that train::load_weights
    // reads.
    virtual void initialize(std::uint64_t seed) = 0;
    virtual void load_weights(const std::string& path) = 0;

    // How attention is computed, where there is a choice: for the user. Else empty.
    virtual std::string attention() = 0;

    // Before the first batch: takes the memory of a step with so many bytes of activations, so that
    // steps up to that size allocate nothing.
    virtual void reserve(std::size_t activation_bytes) = 0;

    // Teacher-forced: the sums of each row's label tokens. Waits for them.
    virtual std::vector<kernels::LossSums> evaluate(const train::Batch& batch) = 0;
    // The same one at every call.
    virtual IncrementalDecoder& decoder() = 0;

    // What trains it, one at a time. References outlive it; nobody need watch.
    virtual std::unique_ptr<train::Engine> make_engine(const train::TrainOptions& options,
                                                       comm::Communicator& communicator,
                                                       Trace& trace,
                                                       comm::RankProgress* whereabouts) = 0;
};

// On the CPU, with so many threads, in fp32 or bf16.
std::unique_ptr<DeviceModel> make_cpu_model(const ModelConfig& config, train::Precision precision,
                                            int threads);

// How a GPU is used.
struct GpuSettings {
    int device = 0;  // among those that this process sees
    train::Master master = train::Master::kept;
    bool tf32 = false;  // products of fp32 by TF32's tensor cores
    // Products and attention's backward take what is measured to be the fastest at their first use.
    bool autotune = false;
    std::size_t max_graphs = 64;  // shapes of work that are captured and replayed; 0: none
    comm::GpuBackend backend = comm::GpuBackend::nccl;  // among several GPUs
    int timeout_ms = 300'000;                           // of one operation among them
};

// On a GPU, in fp32, bf16 or fp16; of lockstep_model_cuda, which a build without CUDA lacks.
std::unique_ptr<DeviceModel> make_cuda_model(const ModelConfig& config, train::Precision precision,
                                             const GpuSettings& settings);

}  // namespace lockstep::model
