"""DDP and FSDP2 on two processes: layers as a whole, and their submodules apart, with the gradients of one process."""

import copy
import gc
import warnings

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torch.nn.parallel import DistributedDataParallel

import primal

WIDTH, PROCESSES = 16, 2


class SelfAttention(primal.MultiheadPrimalAttention):
    def forward(self, x):
        out, _ = super().forward(x, x, x)
        return out, self.terms


LAYERS = {
    "attention": lambda: primal.PrimalAttention(WIDTH, 4, 3),
    "causal": lambda: primal.PrimalAttention(WIDTH, 4, 3, causal=True, lambda_form="exp"),
    "encoder layer": lambda: primal.EncoderLayer(WIDTH, 4, 3, feed_forward=20),
    "multihead": lambda: SelfAttention(WIDTH, 4, 3, batch_first=True),
}


def shard_all(model):
    for module in reversed(
        [m for m in list(model.modules())[1:] if next(m.parameters(recurse=False), None) is not None]
    ):
        fully_shard(module)


def shard_linears(model):
    for module in model.modules():
        if isinstance(module, nn.Linear):
            fully_shard(module)


WAYS = {"as a whole": lambda model: None, "every module": shard_all, "the linear maps": shard_linears}


def loss_of(model, x):
    out, terms = model(x)
    return out.square().mean() + primal.ksvd_loss(terms, eta=0.1)


def check_sharding():
    x = torch.randn(2, 9, WIDTH)
    for make in LAYERS.values():
        for shard in WAYS.values():
            plain = make()
            sharded = copy.deepcopy(plain)
            shard(sharded)
            fully_shard(sharded)
            losses = [loss_of(model, x) for model in (sharded, plain)]
            for loss in losses:
                loss.backward()
            torch.testing.assert_close(*losses)
            for ours, theirs in zip(sharded.parameters(), plain.parameters(), strict=True):
                torch.testing.assert_close(ours.grad.full_tensor(), theirs.grad, rtol=1e-4, atol=1e-6)


def check_ddp():
    """Each process has its own half of the batch."""
    x = torch.randn(PROCESSES, 2, 9, WIDTH)
    for make in LAYERS.values():
        plain = make()
        model = DistributedDataParallel(copy.deepcopy(plain))
        loss_of(model, x[dist.get_rank()]).backward()
        (sum(loss_of(plain, part) for part in x) / PROCESSES).backward()
        for ours, theirs in zip(model.parameters(), plain.parameters(), strict=True):
            torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-6)


def check_meta_device():
    x = torch.randn(2, 9, WIDTH)
    for make in LAYERS.values():
        with torch.device("meta"):
            model = make()
        fully_shard(model)
        model.to_empty(device="cpu")
        model.reset_parameters()
        loss_of(model, x).backward()
        values = {name: value.full_tensor() for name, value in model.state_dict().items()}
        attention = {name.removeprefix("attention."): value for name, value in values.items()}
        we, lam = attention["we"].flatten(1), attention["lam"]
        torch.testing.assert_close(we @ we.T, torch.eye(4), rtol=0, atol=1e-5)
        assert len(lam.unique()) == lam.numel()  # no process repeats what another has drawn


def check_step():
    tokens = torch.randn(2, 3, WIDTH)
    layer = primal.EncoderLayer(WIDTH, 4, 3, feed_forward=20, causal=True)
    expected, _ = layer.step(tokens, layer.initial_state(2))
    fully_shard(layer)
    with pytest.raises(RuntimeError, match="gathers the weights for forward only"):
        layer.step(tokens, layer.initial_state(2))
    register_fsdp_forward_method(layer, "step")
    torch.testing.assert_close(layer.step(tokens, layer.initial_state(2))[0], expected)


CHECKS = {"ddp": check_ddp, "sharding": check_sharding, "meta device": check_meta_device, "step": check_step}


def process(rank, store):
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=PROCESSES)
    init_device_mesh("cpu", (PROCESSES,))
    for check in CHECKS.values():
        torch.manual_seed(0)
        check()
    gc.collect()  # models that are left would talk to the other process, which may have gone
    dist.barrier()
    dist.destroy_process_group()


def test_layers_are_sharded_over_two_processes(tmp_path):
    torch.multiprocessing.spawn(process, (tmp_path / "store",), nprocs=PROCESSES)
