import type { Rule } from './rule.ts'
import { web } from './workspace.ts'

/** The packages that every layer may import. */
const common = [
  '@parley/client',
  '@parley/client/react',
  '@parley/protocol',
  '@parley/protocol/diff',
  'lucide-react',
  'react',
]

/**
 * The layers of the console, lowest first. Each may import itself and the layers below it; features do not import
 * each other.
 */
export function consoleRules(): Rule[] {
  const layers: { folder: string; features?: string[]; packages: string[]; instead: string }[] = [
    {
      folder: 'base',
      packages: ['idb'],
      instead:
        'base knows neither sessions nor components. What needs them belongs in session-data or parts.',
    },
    {
      folder: 'parts',
      packages: ['marked', 'remend', 'shiki'],
      instead: 'a part knows no session: pass it what it shows, or move it to the feature that uses it.',
    },
    {
      folder: 'session-data',
      packages: ['idb'],
      instead: 'session data knows no feature. What only one feature uses belongs there.',
    },
    { folder: 'call', packages: [], instead: 'a call is shown from its block alone.' },
    { folder: 'remarks', packages: [], instead: 'a remark knows lines, not the feature that shows them.' },
  ]
  const below = layers.length
  const feature = (folder: string, packages: string[] = [], features: string[] = []) =>
    layers.push({
      folder,
      features,
      packages,
      instead: 'features do not import each other. What two of them use belongs in a layer below.',
    })
  feature('changes')
  feature('composer')
  feature('files', ['@tanstack/react-virtual'])
  feature('hand-off')
  feature('import')
  feature('inbox', [], ['request'])
  feature('inspector')
  feature('palette', ['cmdk'], ['sessions'])
  feature('plan')
  feature('request')
  feature('round', [], ['changes'])
  feature('sessions')
  feature('settings', ['uqr'])
  feature('sign-in')
  feature('start', [], ['composer'])
  feature('terminal', ['@xterm/xterm', '@xterm/addon-fit', '@xterm/addon-search'])
  feature('timeline', ['@tanstack/react-virtual'])
  layers.push({
    folder: 'app',
    features: layers.slice(below).map(({ folder }) => folder),
    packages: ['react-dom'],
    instead: 'the console uses only client and protocol.',
  })
  return layers.map(({ folder, features = [], packages, instead }, index) => ({
    folder: `${web}/${folder}`,
    mayImport: features.map((name) => `${web}/${name}`),
    packages,
    always: [...common, ...layers.slice(0, Math.min(index, below)).map((layer) => `${web}/${layer.folder}`)],
    instead,
  }))
}
