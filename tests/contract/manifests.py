"""Valid manifests, to be changed at the edges of the rules."""

from typing import Any


def sandbox_provider() -> dict[str, Any]:
    """A manifest as a sandbox provider has it, with every field of a driver."""
    return {
        "id": "acme.sandbox",
        "apiVersion": 1,
        "version": "1.2.3-beta.1+b.2",
        "displayName": "Acme",
        "description": "Sandboxes of Acme.",
        "author": "Acme",
        "categories": ["connector"],
        "minimumHostVersion": "2026.824.0",
        "capabilities": ["environment.drivers.register", "metrics.write"],
        "entrypoints": {"worker": "dist/worker.js"},
        "environmentDrivers": [
            {
                "driverKey": "acme",
                "kind": "sandbox_provider",
                "displayName": "Acme sandbox",
                "description": "",
                "configSchema": {"type": "object", "properties": {"apiKey": {"type": "string"}}},
                "supportsReusableLeases": True,
                "sandboxCapabilities": {
                    "reusableLeases": True,
                    "nativeSyncIn": True,
                    "nativeSyncOut": True,
                    "persistentProcessSessions": False,
                    "independentControlCommands": True,
                    "incrementalSessionOutput": False,
                },
                "supportsInteractiveSetup": True,
                "interactiveSetupConnectionTypes": ["ssh", "browser_terminal"],
                "supportsTemplateCapture": True,
                "templateRefKind": "snapshot",
                "templateConfigBinding": {"field": "snapshot", "unsetFields": ["image", "template"]},
                "templateIdentityPaths": ["snapshot"],
                "supportsTemplateDelete": True,
                "supportsSetupTokenLogin": True,
            },
            {"driverKey": "acme-2", "displayName": "Second", "configSchema": {}},
        ],
    }


def everything() -> dict[str, Any]:
    """A manifest with every section that the host's validator knows."""
    manifest = sandbox_provider()
    manifest["capabilities"] = [
        *manifest["capabilities"],
        "jobs.schedule",
        "webhooks.receive",
        "agent.tools.register",
        "database.namespace.migrate",
        "database.namespace.read",
        "api.routes.register",
        "agents.managed",
        "projects.managed",
        "routines.managed",
        "skills.managed",
        "local.folders",
        "external.objects.detect",
        "external.objects.read",
    ]
    manifest["entrypoints"]["ui"] = "dist/ui"
    manifest["minimumPaperclipVersion"] = "2026.824.0"
    return {**manifest, **_services(), **_managed(), **_interface()}


def _services() -> dict[str, Any]:
    return {
        "instanceConfigSchema": {"$ref": "#"},
        "jobs": [{"jobKey": "nightly", "displayName": "Nightly", "description": "", "schedule": "*/5 0 1,2-3/2 * 1"}],
        "webhooks": [{"endpointKey": "hook", "displayName": "Hook"}, {"endpointKey": "hook2", "displayName": "H"}],
        "tools": [{"name": "t", "displayName": "T", "description": "d", "parametersSchema": {"anyOf": None}}],
        "database": {"namespaceSlug": "acme_1", "migrationsDir": "migrations", "coreReadTables": ["issues", "goals"]},
        "apiRoutes": [
            {
                "routeKey": "r:1",
                "method": "GET",
                "path": "/things/:id",
                "auth": "board",
                "capability": "api.routes.register",
                "checkoutPolicy": "none",
                "companyResolution": {"from": "issue", "param": "id"},
            },
            {
                "routeKey": "r:2",
                "method": "POST",
                "path": "/things/:id",
                "auth": "agent",
                "capability": "api.routes.register",
                "companyResolution": {"from": "query", "key": "company"},
            },
        ],
        "localFolders": [
            {
                "folderKey": "docs",
                "displayName": "Docs",
                "access": "readWrite",
                "requiredDirectories": ["a/b"],
                "requiredFiles": ["readme.md"],
            }
        ],
        "objectReferences": [
            {
                "providerKey": " acme-tickets ",
                "displayName": "Tickets",
                "objectTypes": ["ticket", " epic "],
                "urlPatterns": ["https://example.test/*"],
                "refreshPolicy": {"defaultTtlSeconds": 60, "staleAfterSeconds": 60},
                "webhookEndpointKeys": ["hook", "hook2"],
            }
        ],
    }


def _managed() -> dict[str, Any]:
    return {
        "agents": [
            {
                "agentKey": "helper",
                "displayName": "Helper",
                "role": "r",
                "title": None,
                "icon": "i",
                "capabilities": "c",
                "adapterType": "a",
                "adapterPreference": ["a"],
                "adapterConfig": {},
                "runtimeConfig": {"x": 1},
                "permissions": {},
                "status": "idle",
                "budgetMonthlyCents": 0,
                "instructions": {"entryFile": "e", "content": "", "files": {"a": "b"}, "assetPath": "p"},
            }
        ],
        "projects": [{"projectKey": "p", "displayName": "P", "status": "backlog", "color": None, "settings": {}}],
        "skills": [
            {
                "skillKey": "s",
                "displayName": "S",
                "slug": "s",
                "description": None,
                "markdown": "",
                "files": [{"path": "a.md", "content": ""}, {"path": "b/skill.md", "content": "x"}],
            }
        ],
        "routines": [
            {
                "routineKey": "weekly",
                "title": " Weekly ",
                "description": None,
                "assigneeRef": {"pluginKey": "acme", "resourceKind": "agent", "resourceKey": "helper"},
                "projectRef": {"resourceKind": "project", "resourceKey": "p"},
                "goalId": "123e4567-e89b-12d3-a456-426614174000",
                "status": "active",
                "priority": "low",
                "concurrencyPolicy": "skip_if_active",
                "catchUpPolicy": "skip_missed",
                "activityGatePolicy": "always",
                "activityGateScope": "company",
                "variables": [
                    {"name": "plain", "label": None, "defaultValue": 1.5, "required": False},
                    {"name": "choice", "type": "select", "options": [" a ", "b"], "defaultValue": "a"},
                    {"name": "day", "type": "date", "defaultValue": "2028-02-29"},
                ],
                "triggers": [
                    {
                        "kind": "schedule",
                        "label": "l",
                        "enabled": True,
                        "cronExpression": "* * * * *",
                        "timezone": "UTC",
                        "signingMode": None,
                        "replayWindowSec": 30,
                    }
                ],
                "issueTemplate": {"surfaceVisibility": "default", "originId": None, "billingCode": "b"},
            }
        ],
    }


def _interface() -> dict[str, Any]:
    return {
        "launchers": [
            {
                "id": "l1",
                "displayName": "L",
                "placementZone": "detailTab",
                "entityTypes": ["issue"],
                "order": 1,
                "action": {"type": "openModal", "target": "t", "params": {}},
                "render": {"environment": "hostOverlay", "bounds": "wide"},
            },
            {
                "id": "l2",
                "displayName": "L",
                "placementZone": "page",
                "exportName": "X",
                "action": {"type": "performAction", "target": "do"},
            },
        ],
        "ui": {
            "slots": [
                {"type": "page", "id": "s1", "displayName": "S", "exportName": "S", "routePath": "acme"},
                {
                    "type": "projectSidebarItem",
                    "id": "s2",
                    "displayName": "S",
                    "exportName": "S",
                    "entityTypes": ["project"],
                },
                {"type": "companySettingsPage", "id": "s3", "displayName": "S", "exportName": "S", "routePath": "acme"},
            ],
            "launchers": [
                {
                    "id": "l3",
                    "displayName": "L",
                    "placementZone": "sidebar",
                    "action": {"type": "navigate", "target": "/x"},
                }
            ],
        },
    }
