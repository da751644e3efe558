"""torch.nn.utils: gradients that are clipped, parameters as one vector, sequences of different lengths."""
from . import _methods, _ridge
from .optim import clip_grad_norm_, clip_grad_value_

__all__ = "clip_grad_norm_ clip_grad_value_ parameters_to_vector vector_to_parameters pad_sequence unpad_sequence rnn".split()


def parameters_to_vector(parameters):
    return _ridge.cat([p.reshape(-1) for p in parameters], 0)


def vector_to_parameters(vec, parameters):
    at = 0
    for p in parameters:
        p.assign_(vec[at : at + p.size].reshape(p.shape))
        at += p.size


def pad_sequence(sequences, batch_first=False, padding_value=0.0):
    """(T, N, ..) of sequences (t, ..), the shorter ones filled up at their ends."""
    most = max(s.shape[0] for s in sequences)
    rows = [_methods.pad(s, [(0, most - s.shape[0])] + [(0, 0)] * (s.ndim - 1), value=padding_value) for s in sequences]
    return _ridge.stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [x[i, : int(n)] for i, n in enumerate(lengths.tolist() if hasattr(lengths, "tolist") else lengths)]


class rnn:
    """torch.nn.utils.rnn."""

    pad_sequence, unpad_sequence = staticmethod(pad_sequence), staticmethod(unpad_sequence)
