/** Variables that any program needs: paths, locale and proxy settings. */
const common = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'TMPDIR',
  'TERM',
  'LANG',
  'TZ',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_CACHE_HOME',
]

/** Names or name prefixes of the settings of Node and Bun, on which agents run. None of them loads code. */
const runtimes = ['NODE_COMPILE_CACHE', 'BUN_JSC_']

export type Environment = Readonly<Record<string, string | undefined>>

/** A key that is equal for equal variables in any order. Sessions with the same key can share a process. */
export function environmentKey(variables: Readonly<Record<string, string>> = {}): string {
  return JSON.stringify(Object.entries(variables).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * The environment of an agent's process: the variables that any program needs, settings of Node and Bun, variables of
 * its vendor, and variables that the person's configuration adds. No other variable of this process reaches the agent.
 */
export function agentEnvironment(options: {
  from: Environment
  /** Names or name prefixes of the vendor's variables. */
  vendor: readonly string[]
  /** Vendor variables that belong to another running session and must not be inherited. */
  without?: readonly string[]
  add?: Readonly<Record<string, string>> | undefined
}): Record<string, string> {
  const { from, vendor, without = [], add = {} } = options
  const prefixes = ['LC_', ...runtimes, ...vendor]
  const wanted = (name: string) => common.includes(name) || prefixes.some((prefix) => name.startsWith(prefix))
  const kept = Object.entries(from).filter(([name]) => wanted(name) && !without.includes(name))
  return {
    ...(Object.fromEntries(kept.filter(([, value]) => value !== undefined)) as Record<string, string>),
    ...add,
  }
}
