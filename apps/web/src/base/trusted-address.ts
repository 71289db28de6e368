type Policy = { createScriptURL(address: string): unknown }
type Factory = {
  createPolicy(name: string, rules: { createScriptURL(address: string): string }): Policy
}

const factory = (globalThis as { trustedTypes?: Factory }).trustedTypes
const policy = factory?.createPolicy('parley', {
  createScriptURL(address) {
    if (new URL(address, location.href).origin === location.origin) return address
    throw new TypeError(`${address} is not an address of this server.`)
  },
})

/**
 * Returns a script address in the form that the page's Trusted Types policy requires. The policy accepts only addresses
 * of the page's own server.
 */
export function workerAddress(address: URL | string): URL {
  const text = String(address)
  return (policy ? policy.createScriptURL(text) : text) as URL
}
