import { ParleyError } from '@parley/protocol'

/** The address at which browsers reach the server, if it is not the address on which the server listens. */
export type PublicAddress = {
  /** Without a slash at the end. */
  readonly url: string
  readonly origin: string
  /** The host as a browser sends it. Browsers omit the default port; a proxy may add it. */
  readonly hosts: readonly string[]
  /** The path at which a proxy serves Parley, such as /parley; empty if Parley is at the root. */
  readonly prefix: string
}

/** The first segments of the server's own paths. A prefix must not equal one of them. */
export const ownPaths = [
  'api',
  'assets',
  'decide',
  'first.js',
  'icon.svg',
  'icon-192.png',
  'icon-512.png',
  'icon-maskable.png',
  'icon-touch.png',
  'icon-waiting.svg',
  'icon-working.svg',
  'import',
  'inbox',
  'manifest.webmanifest',
  'manifest.webmanifest',
  'metrics',
  'new',
  'open',
  'pair',
  'rounds',
  'sessions',
  'settings',
  'sw.js',
] as const

/** Throws ParleyError `validation_error` unless the text is a URL that browsers can use. */
export function publicAddressOf(text: string, from = 'The public URL'): PublicAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || /[?#@\\]/.test(text)) {
    throw refusal(
      `${from} takes a URL such as https://parley.example or https://example.org/parley, without a user, a query or a fragment.`,
    )
  }
  const prefix = url.pathname.replace(/\/+$/, '')
  if (!/^(\/[\w.~-]+)*$/.test(prefix)) {
    throw refusal(
      `The path of ${from} may contain only letters, digits, dots, dashes and underscores, not "${prefix}".`,
    )
  }
  const [, first = ''] = prefix.split('/')
  if (ownPaths.some((own) => own === first)) {
    throw refusal(`The path of ${from} cannot start with /${first}: the server uses that path itself.`)
  }
  const { origin, protocol, host } = url
  const defaultPort = protocol === 'https:' ? 443 : 80
  const hosts = url.port === '' ? [host, `${host}:${defaultPort}`] : [host]
  return { url: origin + prefix, origin, hosts, prefix }
}

/** The rest of a path under a prefix, with a slash at its start. Undefined if the path is not under the prefix. */
export function pathUnder(prefix: string, path: string | undefined): string | undefined {
  const rest = path?.startsWith(prefix) ? path.slice(prefix.length) : undefined
  return rest !== undefined && /^([/?]|$)/.test(rest) ? rest.replace(/^(?!\/)/, '/') : undefined
}

function refusal(message: string): ParleyError {
  return new ParleyError('validation_error', message)
}
