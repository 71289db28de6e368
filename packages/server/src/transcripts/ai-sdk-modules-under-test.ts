import { registerHooks } from 'node:module'

/**
 * The real AI SDK in both major versions. One of its packages has its TypeScript under the condition `source`, which
 * the tests use for Parley's own packages. Node cannot run TypeScript from node_modules, so that package is resolved
 * without the condition.
 */
registerHooks({
  resolve: (specifier, context, next) =>
    specifier.startsWith('eventsource-parser')
      ? next(specifier, { ...context, conditions: context.conditions.filter((one) => one !== 'source') })
      : next(specifier, context),
})

export const ai6 = await import('ai6')
export const ai7 = await import('ai7')
export const react6 = await import('ai-react6')
export const react7 = await import('ai-react7')
