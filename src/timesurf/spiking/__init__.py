"""Sup3r on integrate-and-fire neurons: layers of leaky neurons that compete within a place, and how S teaches them.

`SpikingNetwork` has the verbs of `timesurf.Network` (`fit`, `infer`, `predict`, `evaluate`, `adapt`, `extend`); its
layers are `Neurons`, its rule is `timesurf.Rule`. `timesurf.spiking.nir` writes it for neuromorphic hardware.
"""

from timesurf.spiking.layers import Neurons as Neurons
from timesurf.spiking.network import SpikingNetwork as SpikingNetwork
