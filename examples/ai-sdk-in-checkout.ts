import { registerHooks } from 'node:module'

/**
 * For examples with the AI SDK, only in a checkout: one of its packages exports TypeScript under the condition `source`, which
 * Node does not run from node_modules.
 * node --conditions=source --import ./examples/ai-sdk-in-checkout.ts examples/…
 */
registerHooks({
  resolve: (specifier, context, next) =>
    specifier.startsWith('eventsource-parser')
      ? next(specifier, { ...context, conditions: context.conditions.filter((one) => one !== 'source') })
      : next(specifier, context),
})
