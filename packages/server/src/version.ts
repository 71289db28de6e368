import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
  engines: { node: string }
}

export const version = manifest.version

/** The oldest major version of Node that runs Parley. */
export const oldestNode = Number.parseInt(manifest.engines.node.replace(/^\D+/, ''), 10)
