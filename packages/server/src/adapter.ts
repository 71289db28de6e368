/** For authors of adapters: the parts that the built-in adapters use. */
export {
  type AcpAdapterOptions,
  AcpAgent,
  createAcpAdapter,
} from './adapters/acp/index.ts'
export {
  type CallOf,
  createHostToolServer,
  type RunningHostToolServer,
  startHostToolServer,
} from './adapters/host-tool-server.ts'
export { createOutputQueue, type OutputQueue } from './adapters/output-queue.ts'
