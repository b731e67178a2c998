local metadata = type(obj.metadata) == "table" and obj.metadata or {}
local status = type(obj.status) == "table" and obj.status or {}
local found = {}
for _, c in ipairs(type(status.conditions) == "table" and status.conditions or {}) do
  if type(c) == "table" and type(c.type) == "string" then
    found[c.type] = c
  end
end
local function is(kind, value)
  return found[kind] ~= nil and found[kind].status == value
end
local function because(kind, reason)
  return found[kind] ~= nil and found[kind].reason == reason
end
local function health(code, kind, otherwise)
  local message = found[kind] ~= nil and found[kind].message or nil
  if type(message) ~= "string" or message == "" then
    message = otherwise
  end
  return {status = code, message = message}
end

if metadata.deletionTimestamp ~= nil then
  return health("Progressing", is("Stalled", "True") and "Stalled" or "Ready", "being deleted")
end
local paused = because("Reconciling", "Paused")
local seen = status.observedGeneration == nil or status.observedGeneration == metadata.generation
if not seen and not paused then
  return {status = "Progressing", message = "the newest spec has not been looked at yet"}
end
if is("Stalled", "True") then
  return health("Degraded", "Stalled", "stalled")
end
if paused then
  return health("Suspended", "Reconciling", "paused")
end
if because("Ready", "Suspended") then
  return health("Suspended", "Ready", "suspended")
end
if is("Reconciling", "True") then
  return health("Progressing", "Reconciling", "under way")
end
if is("Ready", "True") then
  return health("Healthy", "Ready", "ready")
end
return health("Progressing", "Ready", "not looked at yet")
