import { resolve } from 'node:path'
import { ParleyError } from '@parley/protocol'
import { createClientAddress } from '../faces/http/client-address.ts'
import { publicAddressOf } from '../faces/http/public-address.ts'
import type { ConfigFile } from './config-file.ts'

/** The settings that determine who can reach the server, and at which address. */
export type ReachSettings = {
  readonly allowRemote: boolean
  readonly allowedOrigins: readonly string[]
  readonly allowedHosts: readonly string[]
  /** Without a slash at the end. */
  readonly publicUrl?: string
  readonly tls?: { readonly certFile: string; readonly keyFile: string }
  readonly trustedProxies: readonly string[]
  readonly allowInsecure: boolean
}

export type ReachFlags = {
  readonly allowRemote?: boolean
  readonly allowOrigin?: readonly string[]
  readonly allowHost?: readonly string[]
  readonly publicUrl?: string
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly trustProxy?: readonly string[]
  readonly allowInsecure?: boolean
}

type Given = {
  readonly flags: ReachFlags
  readonly env: Readonly<Record<string, string | undefined>>
  /** The base of relative paths. */
  readonly cwd: string
  readonly config: ConfigFile
  readonly file: string
}

/** Combines the settings as `resolveConfiguration` does, and checks them. */
export function resolveReach({ flags, env, cwd, config, file }: Given): ReachSettings {
  const first = (name: string, flag: string | undefined, variable: string, value: string | undefined) => {
    const given = env[variable] === '' ? undefined : env[variable]
    if (flag !== undefined) return { value: flag, from: name }
    if (given !== undefined) return { value: given, from: variable }
    return value === undefined ? undefined : { value, from: file }
  }
  const publicUrl = first('--public-url', flags.publicUrl, 'PARLEY_PUBLIC_URL', config.publicUrl)
  const cert = first('--tls-cert', flags.tlsCert, 'PARLEY_TLS_CERT', config.tlsCert)
  const key = first('--tls-key', flags.tlsKey, 'PARLEY_TLS_KEY', config.tlsKey)
  if ((cert === undefined) !== (key === undefined)) {
    const [given, missing] = cert ? [cert.from, '--tls-key'] : [key?.from, '--tls-cert']
    throw new ParleyError(
      'validation_error',
      `${given} gives one part of a certificate; give ${missing} too.`,
    )
  }
  const trustedProxies = flags.trustProxy ?? networksOf(env.PARLEY_TRUST_PROXY) ?? config.trustProxy ?? []
  createClientAddress(trustedProxies)
  return {
    ...(publicUrl && { publicUrl: publicAddressOf(publicUrl.value, publicUrl.from).url }),
    ...(cert && key && { tls: { certFile: resolve(cwd, cert.value), keyFile: resolve(cwd, key.value) } }),
    allowRemote: flags.allowRemote ?? config.allowRemote ?? false,
    allowedOrigins: flags.allowOrigin ?? config.allowOrigins ?? [],
    allowedHosts: flags.allowHost ?? config.allowHosts ?? [],
    trustedProxies,
    allowInsecure: flags.allowInsecure ?? config.allowInsecure ?? false,
  }
}

function networksOf(variable: string | undefined): string[] | undefined {
  const networks = variable?.split(',').map((one) => one.trim())
  return networks?.some((one) => one !== '') ? networks.filter((one) => one !== '') : undefined
}
