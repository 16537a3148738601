"""What the host keeps for a plugin, whichever of its workers asks: it outlives them all."""

import json
from dataclasses import dataclass, field

from conformance.model import Json, JsonObject

_STATE_KEY = ("scopeKind", "scopeId", "namespace", "stateKey")
_ENTITY_FIELDS = ("entityType", "scopeKind", "scopeId", "externalId", "title", "status", "data")
_ENTITY_KEY = ("entityType", "scopeKind", "scopeId", "externalId")


@dataclass
class HostStore:
    """State, entities and settings of one plugin. `configs` maps companies to the settings that they have stored."""

    configs: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    _state: dict[str, Json] = field(default_factory=dict[str, Json])
    _entities: list[dict[str, Json]] = field(default_factory=list[dict[str, Json]])

    def state(self, params: JsonObject) -> Json:
        """A stored value; None where there is none."""
        return self._state.get(_state_key(params))

    def set_state(self, params: JsonObject) -> None:
        """Store a value."""
        self._state[_state_key(params)] = params.get("value")

    def delete_state(self, params: JsonObject) -> None:
        """Forget a value."""
        self._state.pop(_state_key(params), None)

    def upsert_entity(self, params: JsonObject, identifier: str, moment: str) -> dict[str, Json]:
        """Store an entity, in place of the one of the same type, scope and external id; `moment` is now."""
        given = {name: params.get(name) for name in _ENTITY_FIELDS}
        for entity in self._entities:
            if given["externalId"] is not None and all(entity[name] == given[name] for name in _ENTITY_KEY):
                entity.update(given, updatedAt=moment)
                return entity
        entity = {"id": identifier, **given, "createdAt": moment, "updatedAt": moment}
        self._entities.append(entity)
        return entity

    def entities(self, params: JsonObject) -> list[Json]:
        """Entities that fit every filter of the request."""
        filters = {name: params[name] for name in _ENTITY_KEY if params.get(name) is not None}
        fitting = [each for each in self._entities if all(each[name] == value for name, value in filters.items())]
        start, most = params.get("offset"), params.get("limit")
        first = start if isinstance(start, int) else 0
        return list(fitting[first:][: most if isinstance(most, int) else None])


def _state_key(params: JsonObject) -> str:
    return json.dumps([params.get(name) for name in _STATE_KEY])
