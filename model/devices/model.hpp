// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/config.hpp"
#include "model/decoding/decoder.hpp"
#include "model/recompute.hpp"
#include "runtime/batch/batch.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/nccl/gpu_backend.hpp"
#include "runtime/comm/watch/rank_progress.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/kernels/loss_sums.hpp"
#include "runtime/train/options.hpp"
#include "runtime/train/step/engine.hpp"

namespace lockstep::model {

// Computes with a model on one device: it owns the weights and the context that computes with them.
// The objects it gives out must not outlive it. Only one thread may use it. Usage:
//     const auto model = make_cpu_model(config, train::Precision::fp32, threads);
//     model->initialize(seed);  // or load_weights(path)
//     const auto engine = model->make_engine(options, communicator, trace, nullptr);
class Model {
public:
    virtual ~Model() = default;

    virtual const train::ParameterTable& parameters() const noexcept = 0;

    // Returns the table of what adapters are added to; a model without adapters has an empty one.
    virtual const train::ParameterTable& frozen() const noexcept = 0;
    // Writes one of its parameters, before anything is calculated.
    virtual void write_frozen(const train::Parameter& parameter, HostView<const float> values) = 0;

    // Writes one of the parameters that are trained, after initialize() or initialize_owned(); all
    // ranks that share a replica call it.
    virtual void write_weights(const train::Parameter& parameter, HostView<const float> values) = 0;

    // Writes the usual initial weights, which depend only on the config and the seed, or the
    // weights that train::load_weights reads.
    virtual void initialize(std::uint64_t seed) = 0;
    virtual void load_weights(const std::string& path) = 0;
    // Writes the same initial weights, of which each rank makes what its engine owns. Only if ranks
    // share a replica; all of them call it.
    virtual void initialize_owned(std::uint64_t seed) = 0;

    // Returns a text for the user that tells how attention is computed if there is a choice, else
    // an empty text.
    virtual std::string attention() = 0;

    // Allocates the memory of a step with that many bytes of activations of their own, so that
    // steps up to that size allocate nothing. Call it before the first batch.
    virtual void reserve(std::size_t activation_bytes) = 0;
    // Returns the most memory of their own that the activations of a training or evaluation step
    // have taken. What lies in the memory of gradients does not count.
    virtual std::size_t peak_activation_bytes() const noexcept = 0;

    // Evaluates with teacher forcing and returns the sums over each row's label tokens. It waits
    // for them.
    virtual std::vector<kernels::LossSums> evaluate(const train::Batch& batch) = 0;
    // Takes part in an evaluate() of other ranks without rows. If ranks share the weights that
    // compute, all of a replica evaluate together.
    virtual void evaluate_nothing() = 0;
    // Returns the same decoder at every call.
    virtual IncrementalDecoder& decoder() = 0;
    // Gives the decoder the present weights if ranks share them; it has a whole copy. The call is
    // collective then.
    virtual void gather_for_decoder() = 0;

    // Makes the engine that trains the model. Only one may exist at a time. The arguments must
    // outlive it; `progress` may be null.
    virtual std::unique_ptr<train::Engine> make_engine(const train::TrainOptions& options,
                                                       comm::Communicator& communicator,
                                                       Trace& trace,
                                                       comm::RankProgress* progress) = 0;
};

// Makes a model on the CPU with that many threads, in fp32 or bf16. If ranks share a replica, its
// weights are there after the engine's share_weights(); only the first rank of a replica may have
// to read them before.
std::unique_ptr<Model> make_cpu_model(const ModelConfig& config, train::Precision precision,
                                      int threads, const RecomputePlan& plan = {},
                                      const train::ReplicaShare& share = {});

// Tells how a GPU is used.
struct GpuSettings {
    int device = 0;  // index among the devices that this process sees
    train::Master master = train::Master::kept;
    bool tf32 = false;  // fp32 products use TF32's tensor cores
    // Measures alternatives for products and attention's backward at their first use and takes the
    // fastest.
    bool autotune = false;
    std::size_t max_graphs = 64;  // maximum of shapes that are captured and replayed; 0: none
    comm::GpuBackend backend = comm::GpuBackend::nccl;  // used among several GPUs
    int timeout_ms = 300'000;                           // limit of one operation among them
    RecomputePlan recompute = {};
    train::ReplicaShare share = {};
    int host_threads = 1;  // that update what is offloaded
};

// Makes a model on a GPU, in fp32, bf16 or fp16. It is part of lockstep_model_cuda, which a build
// without CUDA lacks.
std::unique_ptr<Model> make_cuda_model(const ModelConfig& config, train::Precision precision,
                                       const GpuSettings& settings);

}  // namespace lockstep::model
