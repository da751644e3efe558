"""Optimisers. One step updates all parameters by one or two kernels; the learning rate is a number that changes without compiling."""
import math

from . import _ridge

__all__ = "Optimizer SGD Adam AdamW clip_grad_norm_ clip_grad_value_ CosineAnnealingLR StepLR LambdaLR OneCycleLR lr_cosine lr_warmup".split()


class Optimizer(_ridge.Optimizer):
    """step() takes the gradients that backward() left, and forgets them; zero_grad() is not needed after it."""

    __slots__ = ()

    def zero_grad(self, set_to_none=True):
        _ridge.zero_grad()


def _params(params):
    params = params.parameters() if hasattr(params, "parameters") else params
    return [p[1] if isinstance(p, tuple) else p for p in params]


class SGD(Optimizer):
    __slots__ = ()

    def __new__(cls, params, lr=1e-3, momentum=0.0, weight_decay=0.0, nesterov=False):
        return super().__new__(cls, "sgd", _params(params), lr, momentum, nesterov, weight_decay=weight_decay)


class Adam(Optimizer):
    __slots__ = ()

    def __new__(cls, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, loss_scale=0.0):
        return super().__new__(cls, "adam", _params(params), lr, beta1=betas[0], beta2=betas[1], eps=eps, weight_decay=weight_decay,
                               loss_scale=loss_scale)


class AdamW(Optimizer):
    __slots__ = ()

    def __new__(cls, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, loss_scale=0.0):
        return super().__new__(cls, "adamw", _params(params), lr, beta1=betas[0], beta2=betas[1], eps=eps,
                               weight_decay=weight_decay or -1.0, loss_scale=loss_scale)


def clip_grad_norm_(params, max_norm):
    """Scales all gradients so that their common norm is at most max_norm; returns the norm before."""
    return _ridge._clip_norm(_params(params), max_norm)


def clip_grad_value_(params, clip_value):
    """Each element of the gradients to -clip_value .. clip_value."""
    _ridge._clip_value(_params(params), clip_value)


def lr_cosine(lr, step, steps, least=0.0):
    """Half a cosine down to least."""
    return least + (lr - least) * 0.5 * (1 + math.cos(math.pi * min(step, steps) / max(steps, 1)))


def lr_warmup(lr, step, steps):
    """Grows from lr / steps, then stays."""
    return lr * min(1.0, (step + 1) / max(steps, 1))


class LambdaLR:
    """The first learning rate times fn(step); step() after each step of the optimiser."""

    def __init__(self, optimizer, fn):
        self.optimizer, self.fn, self.lr, self.at = optimizer, fn, optimizer.lr, 0
        optimizer.lr = self.lr * fn(0)

    def step(self):
        self.at += 1
        self.optimizer.lr = self.lr * self.fn(self.at)

    def get_last_lr(self):
        return [self.optimizer.lr]


class CosineAnnealingLR(LambdaLR):
    def __init__(self, optimizer, T_max, eta_min=0.0):
        lr = optimizer.lr
        super().__init__(optimizer, lambda i: lr_cosine(lr, i, T_max, eta_min) / lr)


class StepLR(LambdaLR):
    def __init__(self, optimizer, step_size, gamma=0.1):
        super().__init__(optimizer, lambda i: gamma ** (i // step_size))


class OneCycleLR(LambdaLR):
    def __init__(self, optimizer, max_lr, total_steps, pct_start=0.3):
        lr, up = optimizer.lr, max(1, int(pct_start * total_steps))

        def at(i):
            if i < up:
                return lr_cosine(max_lr, up - i, up, max_lr / 25) / lr
            return lr_cosine(max_lr, i - up, max(1, total_steps - up), max_lr / 250000) / lr

        super().__init__(optimizer, at)
